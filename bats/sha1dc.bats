#!/usr/bin/env bats
# sha1dc.bats - collision-detecting SHA-1, as programs outside of it see it: sha1cdsum is an implementation of its own

load helpers

setup() {
	sums=$BUILD/tests/test_sha1dc
	cd "$BATS_TEST_TMPDIR" || return 1
}

levels='avx512+sha avx2+sha ssse3+sha avx512 avx2'

@test "digests are sha1cdsum's and sha1sum's, for every level" {
	command -v sha1cdsum || skip 'no sha1cdsum'
	for n in 0 1 55 56 63 64 65 1000 1024 1087 1088 1089 4096 100000 3000001; do
		head -c "$n" /dev/urandom >"file-$n"
	done
	sha1sum file-* >expected
	sha1cdsum file-* >sha1cdsum.out
	diff <(awk '{ print $1, $NF }' expected) <(awk '{ print $1, $NF }' sha1cdsum.out)
	for level in $levels; do
		FASTSHA_CPU=$level "$sums" file-* >ours
		if grep -q 'refused *file-3000001' ours; then # this processor has no kernel at this level
			continue
		fi
		grep -v refused ours >served # short messages that the original is faster with
		[ "$(wc -l <served)" -ge 5 ]
		[ -z "$(comm -13 <(sort expected) <(sort served))" ]
	done
}

@test "the published collisions are found where sha1cdsum finds them, for every level" {
	command -v sha1cdsum || skip 'no sha1cdsum'
	for hex in "$BATS_TEST_DIRNAME"/../tests/collisions/*.hex; do
		name=${hex##*/}
		grep -v '^#' "$hex" | tr -d '\n' | python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))' >"$name"
		head -c 2000 /dev/zero >>"$name"
		head -c $(($(stat -c %s "$name") - 2001)) "$name" >"$name.cut" # without its last byte
		head -c 2000 /dev/zero >>"$name.cut"
	done
	sha1cdsum ./*.hex ./*.cut >expected || true
	[ "$(grep -c 'coll' expected)" = 4 ]
	for level in $levels; do
		FASTSHA_CPU=$level "$sums" ./*.hex >found
		if grep -q refused found; then
			continue
		fi
		[ "$(grep -c '^collision' found)" = 4 ]
		FASTSHA_CPU=$level "$sums" ./*.cut >clean
		diff <(grep -v coll expected | awk '{ print $1, $NF }') <(awk '{ print $1, $NF }' clean)
	done
}
