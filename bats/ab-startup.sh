#!/bin/bash
# ab-startup.sh - what the library adds to the start of a process, against an empty preloaded library: ab-startup.sh [-n RUNS] [NAME...]
# shellcheck source=bats/ab-lib.bash
. "$(dirname "$0")/ab-lib.bash"

empty=$BUILD/tests/preload_empty.so
[ -r "$empty" ] || ab_die "$empty is not there: run make tests first"
AB_RUNS=300
ab_begin "$@"

# The "stock" side gets the empty library here.
ab_run() {
	local side=$1 start preload=$LIB
	shift
	[ "$side" = preloaded ] || preload=$empty
	start=$EPOCHREALTIME
	LD_PRELOAD=$preload "$@" >/dev/null 2>&1 </dev/null
	microseconds=$((${EPOCHREALTIME/./} - ${start/./}))
}

printf '%-22s %11s %11s %14s  %s\n' '' 'empty, us' 'fastsha, us' 'difference, us' '95 % interval'
startup() {
	local name=$1 a b difference low high
	shift
	ab_wanted "$name" || return 0
	LD_PRELOAD=$LIB FASTSHA_REPORT=$AB_DIR/report "$@" >/dev/null
	grep -q '"doors"' "$AB_DIR/report" || ab_die "$name: the library was not loaded"
	ab_pairs "$@"
	read -r a b _ _ _ difference low high < <(ab_statistics <"$AB_DIR/times")
	printf '%-22s %11s %11s %14s  %s\n' "$name" "$a" "$b" "$difference" "$low .. $high"
}

startup git-version git --version
startup true /bin/true
startup bash bash -c :
startup openssl-version openssl version
startup python3 /usr/bin/python3 -S -c pass
