#!/usr/bin/env bats
# cli-ab.bats - fastsha ab: what it refuses to compare, what it prints and writes, and that it leaves nothing behind
# shellcheck disable=SC2016,SC2154

bats_require_minimum_version 1.5.0
load helpers

setup() {
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir "$TMPDIR"
	cd "$BATS_TEST_TMPDIR" || return 1
	head -c 300000 /dev/zero >zeros
}

ab() {
	"$BUILD/fastsha" ab "$@"
}

on_terminal() {
	script -qec "$1" /dev/null </dev/null
}

nothing_left() {
	run ls -A "$TMPDIR"
	assert_output ''
}

# A command that prints one thing without and another with the library: differs SHELL SHELL.
differs() {
	printf '#!/bin/sh\ncase $LD_PRELOAD in *libfastsha*) %s ;; *) %s ;; esac\n/bin/true\n' "$2" "$1" >"$BATS_TEST_TMPDIR/differs"
	chmod +x "$BATS_TEST_TMPDIR/differs"
}

# json FILE EXPRESSION: the value of a Python expression on the parsed file, called d.
json() {
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$@"
}

# ---- Comparing

@test "ab: both sides, ratio, interval, doors with bytes served" {
	run -0 --separate-stderr ab -n 3 git hash-object zeros
	[ "${lines[0]}" = 'git hash-object zeros' ]
	assert_output --partial '3 pairs in random order; both sides print the same, 41 B on standard output, 0 B on standard error; exit code 0'
	for row in wall user system 'peak memory'; do assert_line --regexp "^  $row  +[0-9.]+ [a-zA-Z]+ +[0-9.]+ [a-zA-Z]+"; done
	assert_line --regexp '^  wall .* [0-9]\.[0-9]{3}   [0-9]\.[0-9]{3} to [0-9]\.[0-9]{3}$'
	assert_line --regexp '^git +on +sha1dc_.* 293 KiB$'
	[[ $stderr == *'3 pairs are too few'* ]]
	nothing_left
}

@test "ab: the side without has no library, the side with it has; both environments are of the same size" {
	# Neither the library nor its settings in what the command can see without it.
	echo '#!/bin/sh
	case $LD_PRELOAD in *libfastsha*) echo with ;; *) echo without ;; esac >>log
	env | wc -c >>log
	grep -c libfastsha.so /proc/self/maps >>log
	exit 0' >look
	chmod +x look
	FASTSHA_REPORT=/nonesuch/x run ab -n 1 env ./look
	assert_output --partial 'both sides print the same'
	[ "$(grep -cx without log)" = 2 ]
	[ "$(grep -cx with log)" = 2 ]
	# The last pair is the timed one, without a report.
	run tail -n 6 log
	[ "$(sed -n '2p;5p' <<<"$output" | sort -u | wc -l)" = 1 ]
	grep -A2 -x without log | sed -n 3p | grep -qx 0
}

@test "ab: order within a pair is random" {
	echo '#!/bin/sh
	case $LD_PRELOAD in *libfastsha*) printf 1 ;; *) printf 0 ;; esac >>log; exec /bin/true' >look
	chmod +x look
	run -0 ab -n 40 ./look
	# The first pair checks; then each pair is 01 or 10, and not always the same.
	run fold -w 2 log
	[ "$(sort -u <<<"${output#*$'\n'}" | tr '\n' ' ')" = '01 10 ' ]
}

@test "ab: one argument with special characters goes to the shell, others do not" {
	run -0 ab -n 1 'git hash-object zeros | cat'
	run -0 ab -n 1 -- git hash-object zeros
	touch 'a b$c'
	run -0 ab -n 1 git hash-object 'a b$c'
	assert_line --index 0 "git hash-object 'a b\$c'"
}

@test "ab: input is empty" {
	run -0 ab -n 1 wc -c <zeros
	assert_output --partial '2 B on standard output'
}

@test "ab: --warmup, --time, -n count runs" {
	run -0 ab -n 2 --warmup 3 'echo x >>log; /bin/true'
	[ "$(wc -l <log)" = 12 ]
	rm log
	run -0 ab --time 0.05 'echo x >>log; sleep 0.02; /bin/true'
	[ "$(wc -l <log)" = 12 ]
	run -0 ab --time 5 -n 2 true
	assert_output --partial '2 pairs'
}

@test "ab: --prepare runs before each run, outside of the library" {
	run -0 ab -n 2 --prepare 'echo "p$LD_PRELOAD" >>log; rm -f copy' 'cp zeros copy; echo r >>log; /bin/true'
	[ "$(tr -d '\n' <log)" = prprprprprpr ]
}

@test "ab: --prepare that fails: exit 1, its message and its code" {
	run -1 ab -n 2 --prepare 'echo no space >&2; exit 3' true
	assert_output --partial 'no space'
	assert_output --partial "--prepare: 'echo no space >&2; exit 3' failed: exit code 3"
	nothing_left
}

@test "ab --only: doors as asked; none is an A/A run" {
	run -0 ab -n 2 --only git git hash-object zeros
	assert_line --regexp '^git +on'
	assert_line --regexp '^memcmp +off +closed by FASTSHA'
	run -0 ab -n 2 --only none git hash-object zeros
	refute_line --regexp '^[a-z]+ +on '
	assert_output --partial 'no door served anything'
	run -2 ab --only gti true
	assert_output --partial "--only: unknown door 'gti'"
}

# ---- Refusing

@test "ab: random output: exit 3, the first difference, and that it differs from itself" {
	run -3 ab -n 5 'echo same; head -c 8 /dev/urandom | od -An -tx1'
	assert_output --partial 'refusing to compare'
	assert_output --partial 'standard output differs first at byte 6, in line 2'
	assert_line --regexp '^  without   [0-9a-f]{2} '
	assert_line --regexp '^  with      [0-9a-f]{2} '
	assert_output --partial 'Two runs without the library differ, too'
	nothing_left
}

@test "ab: output that differs in a later run is found, too" {
	run -3 ab -n 30 'n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) >count; [ $n -lt 7 ] || echo late; /bin/true'
	assert_output --partial 'refusing to compare'
}

@test "ab: output that differs with the library: exit 3, no other claim" {
	differs 'echo one' 'echo two'
	run -3 ab ./differs
	assert_line '  without  one'
	assert_line '  with     two'
	refute_output --partial 'Two runs without the library differ'
	differs 'echo one; echo more' 'echo one'
	run -3 ab ./differs
	assert_output --partial 'at byte 4, in line 2'
	assert_line '  with     (ends here)'
	differs 'printf "a\tb\001"' 'printf "a\tb\002"'
	run -3 ab ./differs
	assert_line '  without  a\x09b\x01'
}

@test "ab: standard error counts, unless --ignore-stderr" {
	differs 'echo one >&2' 'echo two >&2'
	run -3 ab ./differs
	assert_output --partial 'standard error differs first at byte 0, in line 1'
	run -0 ab -n 1 --ignore-stderr ./differs
	assert_output --partial '0 B on standard output; exit code 0'
}

@test "ab --against: the other side has another library instead" {
	echo '#!/bin/sh
	echo "$LD_PRELOAD" >>log
	/bin/true' >look
	chmod +x look
	run -0 ab -n 1 --against "$BUILD/tests/preload_empty.so" ./look
	assert_output --partial "without: with $BUILD/tests/preload_empty.so instead"
	run -0 sort -u log
	assert_output "$(printf '%s\n' "$BUILD/libfastsha.so" "$BUILD/tests/preload_empty.so")"

	run -2 ab --against nonesuch.so true
	assert_output 'fastsha ab: --against: nonesuch.so cannot be loaded: No such file or directory'
	run -2 ab --against zeros true
	assert_output 'fastsha ab: --against: zeros cannot be loaded: not an ELF file'
}

@test "ab --input: standard input of every run; /dev/null without" {
	run -0 --separate-stderr ab -n 2 --input zeros git hash-object --stdin
	assert_line --regexp '^git +on +sha1dc_.* 293 KiB$'
	run -0 --separate-stderr ab -n 1 git hash-object --stdin
	assert_line --regexp '^git +on +sha1dc_.* [0-9]+ B$'
	run -2 ab --input nonesuch true
	assert_output 'fastsha ab: --input: cannot read nonesuch: No such file or directory'
}

@test "ab --brief: a line with times, ratio, interval and doors; one for each value of a sweep" {
	local row=' +[0-9.]+ [mu]?s +[0-9.]+ [mu]?s +[0-9.]+   [0-9.]+ to [0-9.]+   '
	run -0 --separate-stderr ab --brief -n 2 git hash-object zeros
	assert_output --regexp "^${row}git 293 KiB(, [a-z]+ [0-9.]+ [KM]?i?B)*\$"
	[[ $stderr == *'2 pairs are too few'* ]]
	cp zeros z1
	cp zeros z2
	run -0 --separate-stderr ab --brief -n 1 --sweep n=1,2 git hash-object 'z{n}'
	[ ${#lines[@]} = 2 ]
	assert_line --index 0 --regexp "^ +1${row}git 293 KiB"
	assert_line --index 1 --regexp "^ +2${row}git 293 KiB"
}

@test "ab: by how much a run takes longer with the library, with its interval and sign" {
	# Half a second longer with it.
	differs : 'sleep 0.5'
	run -0 --separate-stderr ab -n 3 --json out.json ./differs
	assert_line --regexp '^  difference +\+[45][0-9.]+ ms +\+[0-9.]+ ms to \+[0-9.]+ ms$'
	run -0 json out.json '0.4 < d["fastsha"][0]["difference"] < 0.7'
	assert_output True
}

@test "ab: exit codes and signals that differ" {
	differs 'exit 1' 'exit 2'
	run -3 ab ./differs
	assert_output --partial 'They end differently'
	assert_line '  without  exit code 1'
	assert_line '  with     exit code 2'
	differs 'kill -9 $$' 'exit 0'
	run -3 ab ./differs
	assert_line '  without  killed by signal 9 (Killed)'
}

@test "ab: a large difference far into the output" {
	differs 'head -c 1000000 /dev/zero | tr "\0" x; echo a' 'head -c 1000000 /dev/zero | tr "\0" x; echo b'
	run -3 ab ./differs
	assert_output --partial 'at byte 1000000, in line 1'
	assert_line --regexp '^  without  x{40}a$'
}

@test "ab: a command that fails alike on both sides is compared, with a warning" {
	run -0 ab -n 2 git cat-file -p HEAD
	assert_output --partial 'exit code 128'
	assert_output --partial 'warning: the command fails, on both sides'
}

@test "ab: killed by a signal on both sides, not found, not executable, static, without report: exit 1" {
	run -1 ab 'kill -9 $$'
	assert_output --partial 'killed by signal 9 (Killed) on both sides'
	run -1 ab nonesuch-command
	assert_output --partial 'nonesuch-command: command not found'
	run -1 ab 'nonesuch-command x'
	assert_output --partial 'command not found'
	run -1 ab ./zeros
	assert_output --partial 'Permission denied'
	run -1 ab env -u LD_PRELOAD true
	assert_output --partial 'no process reported that it had loaded'
	if ! readelf -lW "$BUILD/fastsha" | grep -q INTERP; then
		run -1 ab "$BUILD/fastsha" --version
		assert_output --partial 'nothing to compare: '
		assert_output --partial 'statically linked'
	fi
	nothing_left
}

# ---- Options

@test "ab: wrong options name themselves: exit 2" {
	run -2 ab
	assert_output --partial 'no command given'
	run -2 ab -n
	assert_output --partial 'option -n needs an argument'
	for n in 0 -1 x 1x '' 99999999999999999999; do
		run -2 ab -n "$n" true
		assert_output --partial "-n: '$n' is not a whole number of at least 1"
	done
	run -2 ab --runs 2000000 true
	assert_output --partial 'too many'
	run -2 ab --warmup x true
	assert_output --partial "--warmup: 'x'"
	for t in 0 -1 x inf nan ''; do
		run -2 ab --time "$t" true
		assert_output --partial "--time: '$t' is not a number of seconds"
	done
	run -2 ab --frob true
	assert_output --partial 'unknown option --frob'
	run -2 ab --json /nonesuch/x.json true
	assert_output --partial '--json: cannot write /nonesuch/x.json: No such file'
	run -2 ab --plot /nonesuch/x.svg true
	assert_output --partial '--plot: cannot write /nonesuch/x.svg'
	run -2 ab --plot x.pdf true
	assert_output --partial '--plot: x.pdf: the name has to end in .svg or .png'
	run -2 ab --dark true
	assert_output --partial '--dark makes sense only with --plot'
	run -2 ab --sweep threads true
	assert_output --partial "--sweep: 'threads' is not of the form"
	run -2 ab --sweep 'a b=1' true
	run -2 ab --sweep a=1,,2 'echo {a}'
	assert_output --partial '--sweep: a has an empty value'
	run -2 ab --sweep a= 'echo {a}'
	run -2 ab --sweep a=1 --sweep b=2 'echo {a}{b}'
	assert_output --partial 'only one'
	run -2 ab --sweep a=1 'echo {b}'
	assert_output --partial '{a} occurs neither in the command nor in --prepare'
	[ ! -e x.pdf ]
}

@test "ab --plot without gnuplot says what to install" {
	run -1 env PATH="$BATS_TEST_TMPDIR" "$BUILD/fastsha" ab --plot x.svg /bin/true
	assert_output --partial 'gnuplot is not installed (Debian: apt-get install gnuplot-nox)'
}

@test "ab --json: hyperfine's form" {
	run -0 ab -n 4 --json out.json git hash-object zeros
	[ "$(json out.json 'len(d["results"])')" = 2 ]
	[ "$(json out.json '[r["command"] for r in d["results"]]')" = "['git hash-object zeros', 'fastsha run -- git hash-object zeros']" ]
	# As hyperfine itself writes it: the same names, the same kinds of values.
	hyperfine -N -r 2 --export-json theirs.json 'git hash-object zeros' >/dev/null 2>&1 || skip 'hyperfine is not installed'
	run -0 python3 - <<-'END'
		import json, statistics
		ours, theirs = json.load(open("out.json"))["results"], json.load(open("theirs.json"))["results"]
		for r in ours:
		    for k, v in theirs[0].items():
		        assert k in r, k
		        assert isinstance(r[k], type(v)), (k, r[k], v)
		    assert len(r["times"]) == len(r["exit_codes"]) == 4
		    assert set(r["exit_codes"]) == {0}
		    assert abs(r["mean"] - statistics.mean(r["times"])) < 1e-6
		    assert abs(r["stddev"] - statistics.stdev(r["times"])) < 1e-6
		    assert abs(r["median"] - statistics.median(r["times"])) < 1e-6
		    assert (r["min"], r["max"]) == (min(r["times"]), max(r["times"]))
	END
	[ "$(json out.json 'd["fastsha"][0]["pairs"]')" = 4 ]
	[ "$(json out.json 'd["fastsha"][0]["low"] <= d["fastsha"][0]["ratio"] <= d["fastsha"][0]["high"]')" = True ]
	[ "$(json out.json '[x["bytes"] > 290000 for x in d["fastsha"][0]["report"]["doors"] if x["name"] == "git"]')" = '[True]' ]
}

@test "ab --json: a command with quotes, backslashes and bytes that are no UTF-8" {
	run -0 ab -n 1 --json out.json $'printf \'%s\' "a\\\\b\tc\xff\xc3\xa4"; /bin/true'
	run -0 json out.json 'd["results"][0]["command"].encode("ascii", "backslashreplace").decode()'
	assert_output $'printf \'%s\' "a\\\\b\tc\\ufffd\\xe4"; /bin/true'
}

@test "ab --json: a shell command can be run again as it stands there" {
	run -0 ab -n 1 --json out.json 'git hash-object zeros | tr x X'
	run -0 json out.json 'd["results"][1]["command"]'
	assert_output "fastsha run -- sh -c 'git hash-object zeros | tr x X'"
	PATH=$BUILD:$PATH run -0 sh -c "$output"
	assert_output "$(git hash-object zeros | tr x X)"
}

@test "ab --plot: svg and png, light and dark" {
	command -v gnuplot >/dev/null || skip 'no gnuplot'
	run -0 ab -n 3 --plot out.svg git hash-object "zeros"
	python3 -c 'import xml.dom.minidom, sys; xml.dom.minidom.parse("out.svg")'
	for text in 'git hash-object zeros' 'Wall time of a run: lower is better' 'time (ms)' 'without' 'with fastsha' 'higher is better'; do
		grep -qF "$text" out.svg || fail "not in the picture: $text"
	done
	grep -q 'fill="#ffffff"' out.svg
	run -0 ab -n 2 --plot out.png --dark "git hash-object 'zeros'; echo \"it's\""
	[ "$(head -c 4 out.png | od -An -tx1)" = ' 89 50 4e 47' ]
	run -0 ab -n 2 --plot dark.svg --dark true
	grep -q 'fill="#0d1117"' dark.svg
}

@test "ab --sweep: one table, one plot, one file" {
	for n in 1 2 3; do head -c ${n}00000 /dev/zero >z$n; done
	run -0 ab -n 2 --sweep n=1,2,3 --json out.json --plot out.svg --prepare 'echo {n} >>log' git hash-object 'z{n}'
	assert_line --index 0 "git hash-object 'z{n}'"
	for n in 1 2 3; do assert_line --regexp "^ +$n .* 2 +[0-9.]+ KiB$"; done
	[ "$(sort log | uniq -c | tr -s ' \n' ' ')" = ' 6 1 6 2 6 3 ' ]
	[ "$(json out.json '[(r["parameters"]["n"], r["command"]) for r in d["results"]][3]')" = "('2', 'fastsha run -- git hash-object z2')" ]
	[ "$(json out.json 'len(d["fastsha"])')" = 3 ]
	grep -qF 'Ratio with its 95 % interval: higher is better' out.svg
}

# ---- On a terminal, and interrupted

@test "ab on a terminal: a progress bar with the ratio so far; elsewhere none" {
	run -0 on_terminal "$BUILD/fastsha ab -n 3 git hash-object zeros"
	assert_output --partial 'checking that both sides print the same'
	assert_output --regexp '\[#+\.+\] 2 of 3 pairs, ratio [0-9]\.[0-9]{3}, [0-9]+ s left'
	assert_output --partial $'\033[1m'
	run -0 on_terminal "NO_COLOR=1 $BUILD/fastsha ab -n 2 true"
	assert_output --partial '1 of 2 pairs'
	refute_output --partial $'\033[1m'
	refute_output --partial $'\033[33m'
	run -0 ab -n 3 true
	refute_output --partial 'pairs, ratio'
}

@test "ab on a narrow terminal: the bar stays on one line" {
	run -0 on_terminal "stty cols 40; $BUILD/fastsha ab -n 2 true"
	local bars
	bars=$(tr '\r' '\n' <<<"$output" | sed 's/\x1b\[[0-9;]*[mK]//g' | grep '^\[' | awk '{ print length }' | sort -n | tail -n 1)
	[ "$bars" -le 39 ]
}

# interrupted SIGNAL CODE: a series under way gets the signal; prints what there is, leaves no process and no file.
interrupted() {
	# A shell starts what runs in the background with SIGINT ignored.
	env --default-signal=INT "$BUILD/fastsha" ab -n 1000 --json out.json './slow' >out 2>err 3>&- &
	local pid=$! code=0
	until [ "$(wc -l <log 2>/dev/null)" -ge 8 ] 2>/dev/null; do sleep 0.05; done
	kill -"$1" $pid
	wait $pid || code=$?
	[ $code = "$2" ]
	grep -q 'interrupted; the results so far' err
	grep -qE '^[1-9][0-9]* pairs in random order' out
	[ "$(json out.json 'len(d["results"])')" = 2 ]
	sleep 0.2
	run ! pgrep -f 'sleep 987.1'
	nothing_left
}

@test "ab: an interrupt prints what there is so far and leaves no process behind" {
	printf '#!/bin/sh\necho x >>log\nsleep 987.1 >/dev/null 2>&1 &\nsleep 0.05\nkill $!\n/bin/true\n' >slow
	chmod +x slow
	interrupted INT 130
	rm log
	interrupted TERM 143
}

@test "ab: interrupted before the first pair" {
	env --default-signal=INT "$BUILD/fastsha" ab sh -c 'trap "" TERM; echo x >log; sleep 987.2; sleep 987.2' 2>err 3>&- &
	local pid=$! code=0
	until [ -s log ]; do sleep 0.05; done
	kill -INT $pid
	wait $pid || code=$?
	[ $code = 130 ]
	grep -q 'interrupted before the first pair was done' err
	run ! pgrep -f 'sleep 987.2'
	nothing_left
}

@test "ab: Ctrl-C on a terminal" {
	run -130 python3 - "$BUILD/fastsha" <<-'END'
		import os, pty, sys, time
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], ["fastsha", "ab", "-n", "1000", "sleep", "0.05"])
		time.sleep(1.2)
		os.write(fd, b"\x03")
		text = b""
		try:
		    while chunk := os.read(fd, 4096):
		        text += chunk
		except OSError:
		    pass
		sys.stdout.write(text.decode())
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	END
	assert_output --partial 'interrupted; the results so far'
	assert_output --partial 'pairs in random order'
	nothing_left
}

# ---- Does it measure?

@test "ab: a command that takes three times as long with the library is found to be slower" {
	run -0 ab -n 15 "$BUILD/tests/client_spin" 20 200
	assert_output --partial 'slower with fastsha: 0.'
}
