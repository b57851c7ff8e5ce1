#!/usr/bin/env bats
# cli-install.bats - make install and uninstall, the manual pages, and bash completion
# shellcheck disable=SC2016,SC2153,SC2154

bats_require_minimum_version 1.5.0
load helpers

# complete_line WORD...: what pressing Tab offers behind the last word.
complete_line() {
	bash -c '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _fastsha fastsha "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"' bash "$ROOT/cli/fastsha.bash-completion" "$@"
}

@test "make install: the command works from where it was put, and uninstall removes all of it" {
	local root=$BATS_TEST_TMPDIR/prefix
	make -s -C "$ROOT" BUILD="$BATS_TEST_TMPDIR/build" PREFIX="$root" install >/dev/null
	PATH=$root/bin:$PATH
	run -0 fastsha run sh -c 'echo $LD_PRELOAD'
	assert_output "$root/lib/libfastsha.so"
	run -0 fastsha bench --list
	run -0 fastsha doctor bash
	assert_output --partial "loads, $root/lib/libfastsha.so"
	ln -s "$root/bin/fastsha" "$BATS_TEST_TMPDIR/link"
	run -0 "$BATS_TEST_TMPDIR/link" run true
	for page in man1/fastsha.1 man7/libfastsha.7; do [ -s "$root/share/man/$page" ]; done
	[ -s "$root/share/bash-completion/completions/fastsha" ]
	make -s -C "$ROOT" BUILD="$BATS_TEST_TMPDIR/build" PREFIX="$root" uninstall
	run find "$root" ! -type d
	assert_output ''
}

@test "make install below DESTDIR" {
	make -s -C "$ROOT" BUILD="$BATS_TEST_TMPDIR/build" PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu DESTDIR="$BATS_TEST_TMPDIR/d" install >/dev/null
	run find "$BATS_TEST_TMPDIR/d" -type f -printf '%P %m\n'
	for f in 'usr/bin/fastsha 755' 'usr/lib/x86_64-linux-gnu/libfastsha.so 644' 'usr/lib/x86_64-linux-gnu/fastsha/fastsha-probe 755' \
		'usr/lib/x86_64-linux-gnu/fastsha/fastsha-bench 755' 'usr/share/man/man1/fastsha.1 644' 'usr/share/man/man7/libfastsha.7 644' \
		'usr/share/bash-completion/completions/fastsha 644'; do
		assert_line "$f"
	done
}

@test "the manual pages format without a complaint" {
	command -v groff >/dev/null || skip 'no groff'
	for page in fastsha.1 libfastsha.7; do
		run -0 --separate-stderr groff -t -man -Tutf8 -ww -rLL=100n "$ROOT/man/$page"
		assert_equal "$stderr" ''
	done
}

@test "fastsha(1) and libfastsha(7) name every door" {
	shim /bin/true
	grep -o '"name":"[a-z]*"' "$BATS_TEST_TMPDIR/report" | cut -d'"' -f4 >"$BATS_TEST_TMPDIR/doors"
	while read -r door; do
		grep -q "\\b$door\\b" "$ROOT/man/fastsha.1"
		grep -q "^\.B $door$" "$ROOT/man/libfastsha.7"
	done <"$BATS_TEST_TMPDIR/doors"
	[ -s "$BATS_TEST_TMPDIR/doors" ]
}

@test "completion: subcommands, options, doors, commands" {
	run -0 complete_line fastsha ''
	for c in run ab doctor bench; do assert_line $c; done
	run -0 complete_line fastsha ab --p
	assert_output $'--prepare\n--plot'
	run -0 complete_line fastsha run --only git,m
	assert_output git,memcmp
	run -0 complete_line fastsha run --only +
	assert_output +deflate
	run -0 complete_line fastsha bench --cpu avx5
	assert_output $'avx512\navx512+sha'
	run -0 complete_line fastsha doctor --
	assert_output $'--json\n--help'
	run -0 complete_line fastsha run --stats gi
	assert_line git
	run -0 complete_line fastsha ab -n 5 opens
	assert_line openssl
	run -0 complete_line fastsha ab -n ''
	assert_output ''
}
