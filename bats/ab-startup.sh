#!/bin/bash
# ab-startup.sh - what the library adds to the start of a process, against an empty preloaded library: ab-startup.sh [-n RUNS] [NAME...]
# shellcheck source=bats/ab-lib.bash
. "$(dirname "$0")/ab-lib.bash"

empty=$BUILD/tests/preload_empty.so
[ -r "$empty" ] || ab_die "$empty is not there: run make tests first"
AB_RUNS=300
ab_begin "$@"

startup() {
	local name=$1
	shift
	ab_wanted "$name" || return 0
	echo "$name: with longer than without by"
	"$BUILD/fastsha" ab -n "$AB_RUNS" --against "$empty" -- "$@" | sed -n 's/^  difference  */    /p'
}

startup git-version git --version
startup true /bin/true
startup bash bash -c :
startup openssl-version openssl version
startup python3 /usr/bin/python3 -S -c pass
