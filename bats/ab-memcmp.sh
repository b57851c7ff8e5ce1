#!/bin/bash
# ab-memcmp.sh - git with only the memcmp door open, against an empty preloaded library: ab-memcmp.sh [-n RUNS] [NAME...]
# The ratio is preloaded / empty: what the door costs or gains, without what it costs to load any library.
# shellcheck source=bats/ab-lib.bash
. "$(dirname "$0")/ab-lib.bash"

empty=$BUILD/tests/preload_empty.so
[ -r "$empty" ] || ab_die "$empty is not there: run make tests first"
AB_RUNS=30
ab_begin "$@"
export FASTSHA=memcmp HOME=$AB_DIR GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat

ab_run() {
	local side=$1 start preload=$LIB
	shift
	[ "$side" = preloaded ] || preload=$empty
	start=$EPOCHREALTIME
	LD_PRELOAD=$preload "$@" >"$AB_DIR/$side.out" 2>"$AB_DIR/$side.err" </dev/null
	code=$?
	microseconds=$((${EPOCHREALTIME/./} - ${start/./}))
}

tree=$AB_DIR/tree
git clone -q "$("$ROOT/bats/make-repo.sh" sha1)" "$tree" || exit 1
file=$(git -C "$tree" log --format= --name-only --diff-filter=M | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')

printf '%-22s %11s %11s %7s  %s\n' '' 'empty' 'memcmp door' 'ratio' '95 % interval'
row() {
	local name=$1 a b ratio low high
	shift
	ab_wanted "$name" || return 0
	AB_DOOR=memcmp ab_compare "$name" "$@"
	ab_pairs "$@"
	read -r a b ratio low high _ < <(ab_statistics <"$AB_DIR/times")
	printf '%-22s %11s %11s  %s\n' "$name" "$(ab_time "$a")" "$(ab_time "$b")" \
		"$(awk "BEGIN { printf \"%.3f  %.3f .. %.3f\", 1 / $ratio, 1 / $high, 1 / $low }")"
}

row diff git -C "$tree" diff HEAD~10 HEAD
row status git -C "$tree" status
row log-stat git -C "$tree" log --stat -n 25
row log-oneline git -C "$tree" log --oneline
row rev-list git -C "$tree" rev-list --objects --all
row blame git -C "$tree" blame "$file"
row checkout bash -c "git -C '$tree' checkout -q HEAD~100 && git -C '$tree' checkout -q main"
