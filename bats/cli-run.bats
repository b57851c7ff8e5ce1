#!/usr/bin/env bats
# cli-run.bats - fastsha itself, and fastsha run: the library in front of a command, what stands in its way, and --stats
# shellcheck disable=SC2016,SC2154

bats_require_minimum_version 1.5.0
load helpers

setup() {
	FASTSHA_COMMAND=$BUILD/fastsha
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir "$TMPDIR"
}

fastsha() {
	"$FASTSHA_COMMAND" "$@"
}

# Through a pseudo-terminal, as somebody at a keyboard would: on_terminal 'SHELL COMMAND'.
on_terminal() {
	script -qec "$1" /dev/null </dev/null
}

nothing_left() {
	run ls -A "$TMPDIR"
	assert_output ''
}

# A copy of the command in a folder of its own, without a library: $alone.
command_alone() {
	alone=$BATS_TEST_TMPDIR/alone
	mkdir -p "$alone"
	cp "$BUILD/fastsha" "$alone/"
	if "$alone/fastsha" run true 2>/dev/null; then
		skip 'a library is installed on this machine'
	fi
}

# poke FILE OFFSET HEX: overwrites bytes.
poke() {
	python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1]))' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# ---- The command itself

@test "no subcommand: help on standard error, exit 2" {
	run -2 --separate-stderr fastsha
	[ -z "$output" ]
	[[ $stderr == *'Usage: fastsha COMMAND'* ]]
}

@test "--help, -h, help and --version" {
	for word in --help -h help; do
		run -0 --separate-stderr fastsha $word
		[[ $output == *'Examples:'* ]]
		[ -z "$stderr" ]
	done
	run -0 fastsha --version
	assert_output --regexp '^fastsha [0-9]+\.[0-9]+'
}

@test "an unknown subcommand is named, with the known ones" {
	run -2 fastsha frobnicate
	assert_output --partial "unknown command 'frobnicate' (known: run, ab, doctor, bench"
}

@test "every subcommand has --help with examples, on standard output" {
	for c in run ab doctor bench; do
		run -0 --separate-stderr fastsha $c --help
		[[ $output == "Usage: fastsha $c"* ]]
		[[ $output == *'Examples:'* ]]
		[ -z "$stderr" ]
		[ "$(fastsha $c -h)" = "$output" ]
	done
}

@test "every option in the help of a subcommand is in fastsha(1) and in the completion" {
	for c in run ab doctor bench; do
		for option in $(fastsha $c --help | grep -oE '^ +(-n, +)?--[a-z-]+' | grep -o -- '--.*'); do
			sed 's/\\-/-/g' "$ROOT/man/fastsha.1" | grep -qF -- "$option" || fail "$c $option: not in the manual page"
			grep -qF -- "$option" "$ROOT/cli/fastsha.bash-completion" || fail "$c $option: not in the completion"
		done
	done
}

# ---- run

@test "run: the library is loaded, LD_PRELOAD is kept, arguments and exit code pass through" {
	run -0 env LD_PRELOAD="$BUILD/tests/preload_empty.so" "$BUILD/fastsha" run sh -c 'echo $LD_PRELOAD; grep -c libfastsha /proc/self/maps'
	assert_line --index 0 "$LIB:$BUILD/tests/preload_empty.so"
	[ "${lines[1]}" -gt 0 ]
	run -42 fastsha run sh -c 'exit 42'
	run -0 fastsha run -- printf '%s|' 'a b' '' '*'
	assert_output 'a b||*|'
}

@test "run inside run: the library once" {
	run -0 fastsha run sh -c '"$0" run sh -c "echo \$LD_PRELOAD"' "$BUILD/fastsha"
	assert_line "$LIB"
}

@test "run: another copy of the library in LD_PRELOAD gives way" {
	cp "$LIB" "$BATS_TEST_TMPDIR/libfastsha.so"
	run -0 env LD_PRELOAD="$BATS_TEST_TMPDIR/libfastsha.so" "$BUILD/fastsha" run sh -c 'echo $LD_PRELOAD'
	assert_output "$LIB"
}

@test "run --only sets FASTSHA, and knows the library's doors" {
	run -0 fastsha run --only git,memcmp sh -c 'echo $FASTSHA'
	assert_output git,memcmp
	run -0 fastsha run --only=-memcmp,+deflate sh -c 'echo $FASTSHA'
	assert_output -- -memcmp,+deflate
	run -0 fastsha run --only none --stats true
	refute_line --regexp '^[a-z]+ +on '
	shim /bin/true
	grep -o '"name":"[a-z]*"' "$BATS_TEST_TMPDIR/report" | cut -d'"' -f4 >"$BATS_TEST_TMPDIR/doors"
	while read -r door; do
		run -0 fastsha run --only "$door" true
	done <"$BATS_TEST_TMPDIR/doors"
	[ -s "$BATS_TEST_TMPDIR/doors" ]
}

@test "run --only: an unknown door is named" {
	run -125 fastsha run --only git,gti true
	assert_output --partial "--only: unknown door 'gti' (known: libcrypto, git,"
	run -125 fastsha run --only -none true
	assert_output --partial "unknown door '-none'"
}

@test "run: wrong options name themselves, exit 125" {
	run -125 fastsha run --frob true
	assert_output --partial 'unknown option --frob'
	run -125 fastsha run -x true
	assert_output --partial 'unknown option -x'
	run -125 fastsha run --only
	assert_output --partial 'option --only needs an argument'
	run -125 fastsha run --stats=5 true
	assert_output --partial 'option --stats=5 takes no argument'
	run -125 fastsha run
	assert_output --partial 'no command given'
	run -125 fastsha run --stats --
	assert_output --partial 'no command given'
}

@test "run: a command that is not found, is a folder or not executable" {
	run -127 fastsha run nonesuch-command
	assert_output --partial 'nonesuch-command: command not found'
	run -127 fastsha run /nonesuch/command
	run -126 fastsha run "$BATS_TEST_TMPDIR"
	assert_output --partial 'Is a directory'
	echo text >"$BATS_TEST_TMPDIR/text"
	run -126 fastsha run "$BATS_TEST_TMPDIR/text"
	assert_output --partial 'Permission denied'
	run -126 env PATH="$BATS_TEST_TMPDIR" "$BUILD/fastsha" run text
	assert_output --partial 'Permission denied'
}

@test "run: the library is missing, cut short, no library, for another machine: exit 125, and why" {
	command_alone
	run -125 "$alone/fastsha" run true
	assert_output --partial "cannot find libfastsha.so, neither in $alone nor in"
	echo 'not a library' >"$alone/libfastsha.so"
	run -125 "$alone/fastsha" run true
	assert_output --partial "$alone/libfastsha.so cannot be loaded: not an ELF file"
	head -c 9000 "$LIB" >"$alone/libfastsha.so"
	run -125 "$alone/fastsha" run true
	assert_output --partial 'cannot be loaded: the file is cut short'
	cp "$LIB" "$alone/libfastsha.so"
	poke "$alone/libfastsha.so" 18 b700
	run -125 "$alone/fastsha" run true
	assert_output --partial 'cannot be loaded: it is for AArch64'
	rm "$alone/libfastsha.so"
	mkdir "$alone/libfastsha.so"
	run -125 "$alone/fastsha" run true
	assert_output --partial 'not a regular file'
}

@test "run: a path that LD_PRELOAD cannot hold" {
	mkdir "$BATS_TEST_TMPDIR/a b"
	cp "$BUILD/fastsha" "$LIB" "$BATS_TEST_TMPDIR/a b/"
	run -125 "$BATS_TEST_TMPDIR/a b/fastsha" run true
	assert_output --partial 'has a space or a colon in it'
}

@test "run: a library on a filesystem mounted noexec" {
	command_alone
	mkdir "$BATS_TEST_TMPDIR/mount"
	unshare -rm true 2>/dev/null || skip 'no mount namespaces here'
	run -125 unshare -rm sh -c 'mount -t tmpfs -o noexec none "$0/mount" && cp "$1" "$0/mount/" && ln -s "$0/mount/libfastsha.so" "$0/alone/" &&
		"$0/alone/fastsha" run true' "$BATS_TEST_TMPDIR" "$LIB"
	assert_output --partial 'mounted noexec'
}

@test "run: a static program runs, with a warning" {
	if readelf -lW "$BUILD/fastsha" | grep -q INTERP; then
		skip 'no static program at hand: the command itself is not one'
	fi
	run -0 fastsha run "$BUILD/fastsha" --version
	assert_output --partial "running without the library: $BUILD/fastsha is statically linked"
	assert_output --partial 'fastsha 1'
	printf '#!%s --version\n' "$BUILD/fastsha" >"$BATS_TEST_TMPDIR/script"
	chmod +x "$BATS_TEST_TMPDIR/script"
	run -0 fastsha run "$BATS_TEST_TMPDIR/script"
	assert_output --partial 'statically linked'
}

@test "run: a setuid program runs, with a warning" {
	[ "$(id -u)" = 0 ] || skip 'needs root'
	cp /bin/true "$BATS_TEST_TMPDIR/other"
	chown nobody "$BATS_TEST_TMPDIR/other"
	chmod 4755 "$BATS_TEST_TMPDIR/other"
	run -0 fastsha run "$BATS_TEST_TMPDIR/other"
	assert_output --partial 'other is setuid: the loader does not preload'
	chown root:nogroup "$BATS_TEST_TMPDIR/other"
	chmod 2755 "$BATS_TEST_TMPDIR/other"
	run -0 fastsha run "$BATS_TEST_TMPDIR/other"
	assert_output --partial 'other is setgid'
}

@test "run: a program for another architecture: a warning, and exit 126" {
	cp /bin/true "$BATS_TEST_TMPDIR/foreign"
	poke "$BATS_TEST_TMPDIR/foreign" 18 b700
	run -126 fastsha run "$BATS_TEST_TMPDIR/foreign"
	assert_output --partial 'foreign is for AArch64, the library for x86-64'
	assert_output --partial 'Exec format error'
}

@test "run: a script without an interpreter line is run by the shell, as env does" {
	cd "$BATS_TEST_TMPDIR" || return
	echo 'git --version >&2; echo "$#: $2"; exit 5' >script
	chmod +x script
	run -5 fastsha run ./script a 'b c'
	assert_line '2: b c'
	run -5 fastsha run --stats ./script a 'b c'
	assert_line '2: b c'
	run -0 fastsha ab -n 3 ./script a
	assert_output --partial 'exit code 5'
}

@test "run, ab: SIGCHLD ignored by whoever starts them" {
	ignoring='import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execvp(sys.argv[1], sys.argv[1:])'
	run -7 python3 -c "$ignoring" "$BUILD/fastsha" run --stats sh -c 'exit 7'
	run -0 python3 -c "$ignoring" "$BUILD/fastsha" ab -n 3 'git --version; exit 7'
	assert_output --partial 'exit code 7'
}

@test "run: a program for musl runs" {
	command -v musl-gcc >/dev/null || skip 'no musl-gcc'
	echo 'int main(void) { return 7; }' >"$BATS_TEST_TMPDIR/m.c"
	musl-gcc -o "$BATS_TEST_TMPDIR/m" "$BATS_TEST_TMPDIR/m.c"
	run -7 fastsha run "$BATS_TEST_TMPDIR/m"
	assert_output ''
}

@test "run: ordinary programs and scripts give no warning" {
	printf '#!/usr/bin/env -S sh -u\necho hello\n' >"$BATS_TEST_TMPDIR/script"
	chmod +x "$BATS_TEST_TMPDIR/script"
	for c in true /bin/true "$BATS_TEST_TMPDIR/script" 'git version' 'openssl version'; do
		# shellcheck disable=SC2086
		run -0 --separate-stderr fastsha run $c
		[ -z "$stderr" ]
	done
}

# ---- run --stats

@test "run --stats: a table over all processes, on standard error; nothing left behind" {
	head -c 100000 /dev/zero >"$BATS_TEST_TMPDIR/zeros"
	run -0 --separate-stderr fastsha run --stats sh -c 'git hash-object "$0"; git hash-object "$0"' "$BATS_TEST_TMPDIR/zeros"
	[ "$output" = "$(git hash-object "$BATS_TEST_TMPDIR/zeros")"$'\n'"$(git hash-object "$BATS_TEST_TMPDIR/zeros")" ]
	[[ $stderr == *'git 2'* ]]
	grep -E '^git +on +sha1dc_[a-z0-9_]+ +[0-9]+ +195 KiB' <<<"$stderr"
	nothing_left
}

@test "run --stats: closed doors say why" {
	run -0 fastsha run --stats --only git /bin/true
	assert_line --regexp '^memcmp +off +closed by FASTSHA'
}

@test "run --stats: exit code of the command; 128 + N for a signal" {
	run -3 fastsha run --stats sh -c 'exit 3'
	run -137 fastsha run --stats sh -c 'kill -9 $$'
	nothing_left
	run -127 fastsha run --stats nonesuch-command
	run -126 fastsha run --stats "$BATS_TEST_TMPDIR"
	nothing_left
}

@test "run --stats: says when no process reported" {
	run -0 fastsha run --stats env -u LD_PRELOAD true
	assert_output --partial 'the library was not loaded, or no process lived to report'
	run -137 fastsha run --stats sh -c 'kill -9 $$'
	assert_output --partial 'the library was not loaded, or no process lived to report'
}

@test "run --stats: lines that are no report are counted, not believed" {
	run -0 fastsha run --stats sh -c 'printf "%s\n" garbage "{\"pid\":1" "{\"doors\":[1,2]}" "{\"program\":\"\\u00zz\"}" "{\"doors\":[{\"name\":\"x" "[[[[[[[[[[[[[[[[[[[[[[" >>$FASTSHA_REPORT; true; /bin/true'
	assert_output --partial '6 lines of the report were unreadable'
	assert_output --partial '1 process on'
}

@test "run --stats: odd program names and unknown members of a report" {
	local odd=$BATS_TEST_TMPDIR/$'q"uo\\te\t\xff'
	cp /bin/true "$odd"
	run -0 fastsha run --stats "$odd"
	assert_output --partial '1 process on'
	refute_output --partial unreadable
	run -0 fastsha run --stats sh -c 'printf "%s\n" "{\"new\":{\"a\":[1,{\"b\":null}],\"c\":-1.5e3},\"program\":\"/x/\\u00e4\\/y\",\"doors\":[{\"name\":\"door\",\"state\":\"on\",\"x\":true,\"kernel\":\"k\",\"calls\":5,\"bytes\":2048}]}" >>$FASTSHA_REPORT'
	assert_line --regexp '^door +on +k +5 +2.00 KiB'
}

@test "run --stats on a terminal: an interrupt ends the command, the table is still printed" {
	run on_terminal "$BUILD/fastsha run --stats sh -c 'trap \"exit 9\" INT; /bin/true; kill -INT \$PPID; sleep 10 & wait'; echo \"code \$?\""
	assert_output --partial 'code 9'
	assert_output --partial 'memcmp'
	nothing_left
}

@test "run --stats: SIGTERM is passed on, and nothing is left behind" {
	"$BUILD/fastsha" run --stats sleep 20 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	local pid=$! code=0
	until pgrep -x -P $pid sleep; do sleep 0.05; done
	kill -TERM $pid
	wait $pid || code=$?
	[ $code = 143 ]
	nothing_left
}

@test "run --stats: a TMPDIR that does not exist is named" {
	TMPDIR=/nonesuch run -125 fastsha run --stats true
	assert_output --partial 'cannot make a folder in /nonesuch (TMPDIR)'
}

@test "colours only on a terminal, and not with NO_COLOR" {
	run fastsha run --stats true
	refute_output --partial $'\033'
	run on_terminal "$BUILD/fastsha run --stats true"
	assert_output --partial $'\033[1m'
	run on_terminal "NO_COLOR=1 $BUILD/fastsha run --stats true"
	refute_output --partial $'\033'
	run on_terminal "TERM=dumb $BUILD/fastsha run --stats true"
	refute_output --partial $'\033'
}

@test "what cannot be printed is a failure, of every command that prints" {
	for command in --help --version "run --help" "ab -n 1 true" "doctor --json" doctor "bench --list"; do
		# shellcheck disable=SC2086
		run bash -c '"$@" >/dev/full' - "$BUILD/fastsha" $command
		assert_equal "$command $status" "$command 1"
		assert_output --partial 'cannot write all to standard output'
	done
	# Nothing of its own to print: no failure of its own.
	run bash -c '"$1" run true >&-' - "$BUILD/fastsha"
	assert_success
	run bash -c '"$1" run --stats true >&- 2>/dev/null' - "$BUILD/fastsha"
	assert_success
}
