#!/usr/bin/env bats
# shapes.bats - every shape of git's hash table, and tables that must be left alone

load helpers

setup() {
	# A length that ends in the middle of a block, and that fills the engines' buffers several times.
	head -c 100037 /dev/urandom >"$BATS_TEST_TMPDIR/message"
}

# table SHAPE: runs its program stock and with the library; all that it prints but the number of own calls must be the same and right.
table() {
	local t=$BATS_TEST_TMPDIR side sha1 sha256
	for side in stock shim; do
		"$side" "$BUILD/tests/git_table_$1" "$t/message" >"$t/$side.all"
		grep -v '^own calls' "$t/$side.all" >"$t/$side.digests"
	done
	diff "$t/stock.digests" "$t/shim.digests"
	sha1=$(sha1sum <"$t/message")
	sha256=$(sha256sum <"$t/message")
	run grep -E '^(sha1|unsafe|sha256) ' "$t/shim.digests"
	[ "${#lines[@]}" -ge 4 ]
	for line in "${lines[@]}"; do
		case $line in
		sha256*) assert_equal "$line" "sha256 ${sha256%% *}" ;;
		*) assert_equal "${line#* }" "${sha1%% *}" ;;
		esac
	done
	own_calls=$(sed -n 's/^own calls //p' "$t/shim.all")
}

# served SHAPE WHY OWN_CALLS: the door is open for this reason, and the program's own functions were only asked by the probe.
served() {
	grep -qw sha_ni /proc/cpuinfo || skip "this processor has no SHA-NI"
	table "$1"
	assert_equal "$(door_why git)" "on: hash table shape $2"
	assert_served git 200000
	assert_equal "$own_calls" "$3"
}

@test "shape of git 2.21: no clone, no final_oid" {
	served OLD "of 2.21; sha1 by sha1dc; sha256 by block-sha256" 6
}

@test "shape A, with a plain SHA-1" {
	served A "A; sha1 by block-sha1; sha256 by block-sha256" 6
}

@test "shape B" {
	served B "B; sha1 by sha1dc; sha256 by block-sha256" 8
}

@test "shape C: unsafe functions in the same row" {
	served C "C; sha1 by sha1dc; unsafe sha1 by block-sha1; sha256 by block-sha256" 12
}

@test "shape D: a row of its own for unsafe SHA-1" {
	served D "D; sha1 by sha1dc; unsafe sha1 by block-sha1; sha256 by block-sha256" 12
}

@test "shape E: discard" {
	served E "E; sha1 by sha1dc; unsafe sha1 by block-sha1; sha256 by block-sha256" 12
}

@test "a context without scratch space behind sha1dc's fields" {
	served SHORT "B; sha1 by sha1dc without scratch space; sha256 by block-sha256" 8
}

@test "a table among the variables, in a program linked without RELRO" {
	served NORELRO "B; sha1 by sha1dc; sha256 by block-sha256" 8
}

@test "a table among the constants, in a program for a fixed address" {
	served NOPIE "B; sha1 by sha1dc; sha256 by block-sha256" 8
}

@test "two tables in one program are left alone" {
	table TWICE
	assert_equal "$(door_why git)" "off: more than one hash table in this program: left alone"
	assert_equal "$(door_sum git calls)" 0
}

@test "a row by another name than its algorithm's is left alone, the other row served" {
	table NAME
	assert_equal "$(door_why git)" "on: hash table shape B; sha1: another name in its row, left alone; sha256 by block-sha256"
	assert_served git 200000
	[ "$own_calls" -gt 100 ]
}

@test "an unknown shape is left alone" {
	table ODD
	assert_equal "$(door_why git)" "off: this git's hash table has an unknown shape: left alone"
	assert_equal "$(door_sum git calls)" 0
}

@test "a context that is a pointer is left alone, the other row served" {
	table POINTER
	assert_equal "$(door_why git)" "on: hash table shape B; sha1: unknown context, left alone; sha256 by block-sha256"
	assert_served git 200000
	[ "$own_calls" -gt 100 ]
}

@test "an update that does something else than SHA-1 is left alone" {
	local t=$BATS_TEST_TMPDIR
	stock "$BUILD/tests/git_table_WRONG" "$t/message" | grep -v '^own' >"$t/stock"
	shim "$BUILD/tests/git_table_WRONG" "$t/message" | grep -v '^own' >"$t/shim"
	diff "$t/stock" "$t/shim"
	assert_equal "$(door_why git)" "on: hash table shape B; sha1: unknown context, left alone; sha256 by block-sha256"
}

@test "a final_oid that writes something else than git's is left alone" {
	table OID
	assert_equal "$(door_why git)" "on: hash table shape B; sha1: final does not do what is expected; sha256 by block-sha256"
}

@test "without SHA-NI and vectors, git's own code stays" {
	export FASTSHA_CPU=generic
	table D
	assert_equal "$(door_sum git calls)" 0
	assert_regex "$(door_why git)" "^off: hash table shape D; sha1: no kernel here beats sha1dc"
}
