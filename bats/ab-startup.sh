#!/bin/bash
# ab-startup.sh - what the library adds to the start of a process, against an empty preloaded library: ab-startup.sh [-n RUNS] [NAME...]
# shellcheck source=bats/ab-lib.bash
. "$(dirname "$0")/ab-lib.bash"

empty=$BUILD/tests/preload_empty.so
starter=$BUILD/bench/startup
{ [ -r "$empty" ] && [ -x "$starter" ]; } || ab_die "$empty or $starter is not there: run make tests build/bench/startup first"
AB_RUNS=300
ab_begin "$@"

printf '%-22s %11s %11s %14s  %s\n' '' 'empty, us' 'fastsha, us' 'difference, us' '95 % interval'
startup() {
	local name=$1 a b difference low high
	shift
	ab_wanted "$name" || return 0
	LD_PRELOAD=$LIB FASTSHA_REPORT=$AB_DIR/report "$@" >/dev/null
	grep -q '"doors"' "$AB_DIR/report" || ab_die "$name: the library was not loaded"
	"$starter" "$AB_RUNS" "$empty" "$LIB" "$@" >"$AB_DIR/times" || ab_die "$name: no times"
	read -r a b _ _ _ difference low high < <(ab_statistics <"$AB_DIR/times")
	printf '%-22s %11s %11s %14s  %s\n' "$name" "$a" "$b" "$difference" "$low .. $high"
}

startup git-version git --version
startup true /bin/true
startup bash bash -c :
startup openssl-version openssl version
startup python3 /usr/bin/python3 -S -c pass
