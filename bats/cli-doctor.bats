#!/usr/bin/env bats
# cli-doctor.bats - fastsha doctor: what it finds, what it advises, its exit code
# shellcheck disable=SC2016,SC2154

bats_require_minimum_version 1.5.0
load helpers

setup() {
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir "$TMPDIR"
	cd "$BATS_TEST_TMPDIR" || return 1
}

doctor() {
	"$BUILD/fastsha" doctor "$@"
}

json() {
	python3 -c 'import json, sys; d = json.loads(sys.argv[1]); print(eval(sys.argv[2]))' "$output" "$1"
}

nothing_left() {
	run ls -A "$TMPDIR"
	assert_output ''
}

build_id() {
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

@test "doctor: processor, versions, build-ids, doors with reasons, gains; exit 0 within 5 seconds" {
	local start=$EPOCHREALTIME
	run -0 --separate-stderr doctor
	local took=$(((${EPOCHREALTIME/./} - ${start/./}) / 1000))
	[[ ${lines[0]} == "processor  $(sed -n 's/^model name[^:]*: //p;T;q' /proc/cpuinfo); kernels may use "[a-z]* ]]
	assert_line --regexp "^fastsha +loads, $LIB \(build-id $(build_id "$LIB")\)$"
	assert_line --regexp "^git +$(git --version), $(command -v git) \(build-id $(build_id "$(command -v git)")\)$"
	assert_line --regexp "^openssl +OpenSSL .*, $(command -v openssl) "
	assert_line --regexp '^libcrypto +OpenSSL .*, /.*/libcrypto\.so'
	assert_line --regexp '^zlib +1\.[0-9.]+, /.*/libz\.so\.1'
	for door in git libcrypto memcmp inflate checksum deflate; do assert_line --regexp "^$door +(on|off) +.*[a-z]"; done
	assert_line --regexp '^inflate +500 B inflate +[0-9.]+ [a-z]+ +[0-9.]+ [a-z]+ +[0-9]+\.[0-9]{2}x$'
	assert_line 'Every door that could be open is.'
	[ -z "$stderr" ]
	[ "$took" -lt 5000 ] || echo "# took $took ms, on a machine that may be busy" >&3
	nothing_left
}

@test "doctor: git's table and its gain" {
	run -0 doctor
	if ! grep -qE '^git +on' <<<"$output"; then skip "the door to git is closed here"; fi
	assert_line --regexp '^ +hashes through its hash table shape [A-E]'
	assert_line --regexp '^blob in git +16.0 MiB git '
	run -0 doctor git
	assert_line --regexp '^git +on '
	refute_line --regexp '^openssl'
}

@test "doctor --json" {
	run -0 --separate-stderr doctor --json
	[ "$(json 'd["ok"], d["problems"], d["library"]["loads"]')" = '(True, [], True)' ]
	[ "$(json 'd["library"]["build_id"]')" = "$(build_id "$LIB")" ]
	[ "$(json '[p["name"] for p in d["programs"]]')" = "['git', 'openssl']" ]
	[ "$(json '[l["name"] for l in d["libraries"]]')" = "['libcrypto', 'zlib']" ]
	[ "$(json '[x["name"] for x in d["doors"]]')" = "['git', 'libcrypto', 'memcmp', 'inflate', 'checksum', 'deflate']" ]
	[ "$(json 'all(x["state"] in ("on", "off") and x["why"] and x["in"] for x in d["doors"])')" = True ]
	[ "$(json 'all(g["gain"] > 0 and abs(g["gain"] - g["original_seconds"] / g["fastsha_seconds"]) < 0.01 * g["gain"] for g in d["gains"])')" = True ]
	[ "$(json 'd["processor"]["level"]')" != '' ]
}

@test "doctor: doors closed by FASTSHA, a lowered level, an unknown name: exit 1, and what to do" {
	FASTSHA=-memcmp run -1 doctor
	assert_line --regexp '^memcmp +off +closed by FASTSHA'
	assert_line 'problem: memcmp is closed by FASTSHA=-memcmp in the environment: unset it, or add memcmp'
	refute_line --partial 'problem: git'
	FASTSHA=gti run -1 doctor
	assert_line --regexp "^problem: .*unknown door 'gti'"
	FASTSHA_CPU=generic run -1 doctor --json
	[ "$(json 'd["ok"], len(d["problems"])')" = '(False, 1)' ]
	assert_output --partial 'FASTSHA_CPU=generic in the environment lowers what kernels may use: unset it'
	[ "$(json 'd["processor"]["level"]')" = generic ]
}

@test "doctor: a missing or damaged library: exit 1, and why" {
	mkdir alone
	cp "$BUILD/fastsha" "$BUILD/fastsha-probe" alone/
	if alone/fastsha run true 2>/dev/null; then
		skip 'a library is installed on this machine'
	fi
	run -1 alone/fastsha doctor
	assert_output --partial 'problem: libfastsha.so is neither beside this command nor in'
	assert_line --regexp '^zlib +1'
	head -c 5000 "$LIB" >alone/libfastsha.so
	run -1 alone/fastsha doctor
	assert_output --partial 'libfastsha.so cannot be loaded: the file is cut short'
	# Looks like a library, but the loader will not have it.
	cp "$LIB" alone/libfastsha.so
	offset=$(($(readelf -lW "$LIB" | awk '$1 == "DYNAMIC" { print $2 }')))
	head -c 512 /dev/zero | tr '\0' '\377' | dd of=alone/libfastsha.so bs=1 seek="$offset" conv=notrunc status=none
	run -1 alone/fastsha doctor
	assert_output --partial 'was not loaded into a test program'
	cp "$LIB" alone/libfastsha.so
	rm alone/fastsha-probe
	run -1 alone/fastsha doctor
	assert_output --partial 'cannot find fastsha-probe'
	nothing_left
}

@test "doctor PROGRAM: another one, static, not found, too many" {
	run -0 doctor bash
	assert_line --regexp '^bash +GNU bash'
	assert_line --regexp '^memcmp +on '
	run -0 doctor openssl
	assert_line --regexp '^libcrypto +on '
	if ! readelf -lW "$BUILD/fastsha" | grep -q INTERP; then
		run -1 doctor "$BUILD/fastsha"
		assert_output --partial 'problem: the library is not loaded: '
		assert_output --partial 'statically linked'
	fi
	run -1 doctor nonesuch-command
	assert_output --partial 'nonesuch-command: command not found'
	run -2 doctor git fsck
	assert_output --partial "'fsck' is too many"
	nothing_left
}

@test "doctor: a program that does not end is ended, within seconds" {
	printf '#!/bin/sh\nsleep 987.3\n' >slow
	chmod +x slow
	run -1 timeout 30 "$BUILD/fastsha" doctor ./slow
	assert_output --partial 'did not report'
	run ! pgrep -f 'sleep 987.3'
	nothing_left
}

@test "doctor: a machine without git" {
	mkdir bin
	ln -s "$(command -v openssl)" bin/
	PATH=$PWD/bin run -0 "$BUILD/fastsha" doctor
	assert_line --regexp '^git +not found'
}

@test "doctor: wrong options: exit 2" {
	run -2 doctor --frob
	assert_output --partial 'unknown option --frob'
	run -2 doctor --json=x
	assert_output --partial 'takes no argument'
}

@test "doctor: interrupted, it leaves nothing behind" {
	env --default-signal=INT "$BUILD/fastsha" doctor >out 2>err 3>&- &
	local pid=$! code=0
	sleep 0.3
	kill -INT $pid 2>/dev/null || skip 'it had ended already'
	wait $pid || code=$?
	[ $code = 130 ]
	grep -q interrupted err
	nothing_left
}
