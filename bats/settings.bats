#!/usr/bin/env bats
# settings.bats - FASTSHA, FASTSHA_CPU and FASTSHA_REPORT: what they open and close, what wrong values do, what the report holds

load helpers

KNOWN='libcrypto git memcmp inflate checksum deflate'

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	head -c 100000 /dev/urandom >input
}

# doors_by_settings VALUE: the doors that FASTSHA=VALUE does not close, as the report of a git process has them.
doors_by_settings() {
	rm -f report
	FASTSHA=$1 shim git hash-object input >/dev/null 2>err
	perl -ne 'print join(" ", map { /^"(\w+)","state":"\w+","why":"(closed by FASTSHA|opt-in)?/ && !$2 ? $1 : () } split /"name":/)' report
}

# closed DOOR, opened DOOR: its state in the last report.
closed() {
	[[ $(door_why "$1" git) == 'off: '* ]] || fail "$1 is not closed: $(cat report)"
}

opened() {
	[[ $(door_why "$1" git) == 'on: '* ]] || fail "$1 is not open: $(cat report)"
}

@test "FASTSHA unset, empty or on: the default doors" {
	for value in '' on ','; do
		assert_equal "$(doors_by_settings "$value")" 'libcrypto git memcmp inflate checksum'
		opened git
		opened memcmp
		closed deflate
		assert_equal "$(cat err)" ''
	done
	(
		unset FASTSHA
		rm -f report
		shim git hash-object input
	)
	opened git
}

@test "FASTSHA=off, FASTSHA=none: no door, and git hashes with its own functions" {
	for value in off none; do
		assert_equal "$(doors_by_settings $value)" ''
		for door in $KNOWN; do
			closed "$door"
			assert_equal "$(door_sum "$door" bytes)" 0
			assert_equal "$(door_sum "$door" calls)" 0
		done
		FASTSHA=$value same git hash-object input
		assert_equal "$status" 0
	done
}

@test "FASTSHA=NAME,NAME: only these" {
	assert_equal "$(doors_by_settings git)" git
	opened git
	assert_served git 100000
	closed memcmp
	assert_equal "$(doors_by_settings git,memcmp)" 'git memcmp'
	assert_equal "$(doors_by_settings memcmp,libcrypto)" 'libcrypto memcmp'
	closed git
	assert_equal "$(door_sum git bytes)" 0
	assert_equal "$(doors_by_settings deflate)" deflate
}

@test "FASTSHA=-NAME, +NAME: the default set, changed" {
	assert_equal "$(doors_by_settings -memcmp)" 'libcrypto git inflate checksum'
	opened git
	closed memcmp
	assert_equal "$(doors_by_settings +deflate)" 'libcrypto git memcmp inflate checksum deflate'
	assert_equal "$(doors_by_settings -memcmp,+deflate,-git)" 'libcrypto inflate checksum deflate'
	assert_equal "$(doors_by_settings -deflate)" 'libcrypto git memcmp inflate checksum'
}

@test "an unknown door: one line on stderr that names it and the known ones, and the default set" {
	for value in gti git,nonsense -memcpm +x GIT; do
		assert_equal "$(doors_by_settings $value)" 'libcrypto git memcmp inflate checksum'
		assert_equal "$(wc -l <err)" 1
		name=${value##*,}
		grep -qF -- "'${name#[-+]}'" err || fail "the line does not name ${name#[-+]}: $(cat err)"
		for door in $KNOWN; do grep -qw "$door" err || fail "the line does not name $door: $(cat err)"; done
		opened git
	done
}

@test "FASTSHA_CPU lowers what is used, and the digests stay right" {
	expected=$(git hash-object input)
	have=$(shim git --version >/dev/null && sed -n 's/.*"cpu":"\([^"]*\)".*/\1/p' report)
	best=${have%+sha}
	for level in generic ssse3 avx2 avx512; do
		for sha in '' +sha; do
			rm -f report
			assert_equal "$(FASTSHA_CPU=$level$sha shim git hash-object input 2>err)" "$expected"
			assert_equal "$(cat err)" ''
			got=$(sed -n 's/.*"cpu":"\([^"]*\)".*/\1/p' report)
			[ $sha ] || [[ $got != *+sha ]] || fail "$level gave $got"
			[[ "generic ssse3 avx2 avx512 " == *"${got%+sha} "*"$level "* ]] || [ "${got%+sha}" = "$level" ] || fail "$level gave $got"
		done
		[ "$level" != "$best" ] || break
		assert_equal "${got%+sha}" "$level"
	done
}

@test "an unknown FASTSHA_CPU: one line on stderr, and all that the processor has" {
	shim git --version
	have=$(sed -n 's/.*"cpu":"\([^"]*\)".*/\1/p' report)
	for level in avx9 avx2+shaa sha; do
		rm -f report
		FASTSHA_CPU=$level shim git hash-object input 2>err
		assert_equal "$(sed -n 's/.*"cpu":"\([^"]*\)".*/\1/p' report)" "$have"
		assert_equal "$(wc -l <err)" 1
		grep -qF "'$level'" err
	done
}

@test "the report: one line of JSON for each process, with what it should hold" {
	shim bash -c 'git hash-object input input; true'
	# bash and git.
	assert_equal "$(wc -l <report)" 2
	/usr/bin/python3 - "$KNOWN" <<-'EOF'
		import json, sys
		for line in open("report"):
		    process = json.loads(line)
		    assert set(process) == {"pid", "program", "cpu", "doors"}, process
		    assert process["pid"] > 0 and process["program"].startswith("/") and process["cpu"], process
		    assert [d["name"] for d in process["doors"]] == sys.argv[1].split(), process
		    for door in process["doors"]:
		        assert set(door) == {"name", "state", "why", "kernel", "calls", "bytes"}, door
		        assert door["state"] in ("on", "off") and len(door["why"]) > 3, door
		        assert (door["kernel"] is not None) == (door["state"] == "on"), door
		        assert door["state"] == "on" or door["calls"] == door["bytes"] == 0, door
	EOF
	# Two blobs of 100,000 bytes with their headers.
	assert_equal "$(door_sum git bytes)" $((2 * (100000 + 12)))
}

@test "the report: programs whose names JSON must escape, and as long as a path may be" {
	/usr/bin/python3 - "$LIB" <<-'EOF'
		import json, os, shutil, subprocess, sys
		deep = b"/".join([b"\x01" * 250] * 14)
		os.makedirs(deep)
		for name, expected in (
		    (b'a "quoted\\name"\n\x7f', 'a "quoted\\name"\n\x7f'),
		    ("größer €𝄞".encode(), "größer €𝄞"),
		    (b"not text: \xff \xc3( \xed\xa0\x80", "not text: \ufffd \ufffd( \ufffd\ufffd\ufffd"),
		    (deep + b"/p", deep.decode() + "/p"),
		):
		    shutil.copy("/bin/true", name)
		    open("report", "wb").close()
		    subprocess.run([b"./" + name], env={"LD_PRELOAD": sys.argv[1], "FASTSHA_REPORT": os.path.abspath("report")}, check=True)
		    line, = open("report", encoding="utf-8")
		    assert json.loads(line)["program"].endswith("/" + expected), line
	EOF
}

@test "the report: lines of 100 processes at once do not mix" {
	for _ in {1..100}; do shim git --version >/dev/null & done
	wait
	assert_equal "$(wc -l <report)" 100
	/usr/bin/python3 -c 'import json; [json.loads(line) for line in open("report")]'
}

@test "the report: a relative name stays where the process started" {
	mkdir below
	REPORT=here shim git -C below --version
	assert [ -s here ]
}

@test "a report that cannot be written: one line on stderr, nothing else changes" {
	# shellcheck disable=SC2034 # REPORT is for shim
	for REPORT in /nonexistent/report /dev/full "$PWD" "$(printf '%5000s' x)"; do
		shim git hash-object input >out 2>err || fail "exit code $?"
		assert_equal "$(cat out)" "$(git hash-object input)"
		assert_equal "$(wc -l <err)" 1
		grep -q '^fastsha: FASTSHA_REPORT: ' err
	done
}

@test "no report without FASTSHA_REPORT, and an empty one is none" {
	LD_PRELOAD=$LIB git hash-object input
	FASTSHA_REPORT='' LD_PRELOAD=$LIB git hash-object input
	assert_equal "$(ls)" input
}

@test "closed standard error and output: as without the library" {
	for redirection in '2>&-' '>&-' '<&- >&- 2>&-'; do
		for side in stock shim; do
			rc=0
			FASTSHA=nonsense FASTSHA_CPU=nonsense "$side" bash -c "git hash-object input $redirection" >$side.out || rc=$?
			echo "exit code $rc" >>$side.out
		done
		diff stock.out shim.out
	done
}

@test "a process with raised privileges ignores the settings" {
	[ "$(id -u)" = 0 ] || skip 'needs root to make a set-user-ID program'
	# LD_PRELOAD is not honoured there; a program that is linked with the library shows what its constructor does.
	echo 'int main(void) { return 0; }' >p.c
	"${CC:-cc}" -o p p.c -Wl,--no-as-needed "$LIB" -Wl,-rpath,"$(dirname "$LIB")"
	FASTSHA=nonsense FASTSHA_CPU=nonsense FASTSHA_REPORT=$PWD/plain ./p 2>plain.err
	assert [ -s plain ]
	assert_equal "$(wc -l <plain.err)" 2
	chmod a+rx . .. ../..
	chown nobody p
	chmod u+s p
	FASTSHA=nonsense FASTSHA_CPU=nonsense FASTSHA_REPORT=$PWD/secure ./p 2>secure.err || skip 'no set-user-ID programs here'
	grep -q ' nosuid' <(findmnt -n -o OPTIONS -T p) && skip 'the temporary folder is mounted nosuid'
	assert_equal "$(cat secure.err)" ''
	assert [ ! -e secure ]
}

@test "no system call but those that loading it and swapping tables need" {
	strace -o /dev/null true 2>/dev/null || skip 'strace cannot trace here'
	calls() {
		strace -f -o "$1.trace" -E LD_PRELOAD="$2" git hash-object input
		# Addresses, process numbers and the files that loading opens differ; the names and numbers of all other calls do not.
		sed -E 's/^[0-9]+ +//; s/\(.*//' "$1.trace" | grep -E '^[a-z0-9_]+$' | sort | uniq -c >"$1.calls"
	}
	calls empty "$BUILD/tests/preload_empty.so"
	calls shim "$LIB"
	assert_equal "$(grep -vE ' (mprotect|mmap)$' shim.calls)" "$(grep -vE ' (mprotect|mmap)$' empty.calls)"
	# One pair for each page with a row: one or two pages; and the library's own RELRO is as the empty one's.
	before=$(awk '$2 == "mprotect" { print $1 }' empty.calls)
	after=$(awk '$2 == "mprotect" { print $1 }' shim.calls)
	assert [ $((after - before)) -le 4 ]
}
