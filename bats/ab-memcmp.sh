#!/bin/bash
# ab-memcmp.sh - git with only the memcmp door open, against an empty preloaded library: ab-memcmp.sh [-n RUNS] [NAME...]
# What the door gains or costs, without what it costs to load any library.
# shellcheck source=bats/ab-lib.bash
. "$(dirname "$0")/ab-lib.bash"

empty=$BUILD/tests/preload_empty.so
[ -r "$empty" ] || ab_die "$empty is not there: run make tests first"
AB_RUNS=30
ab_begin "$@"
AB_OPTIONS=(--only memcmp --against "$empty")
export AB_DOOR=memcmp HOME=$AB_DIR GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat

tree=$AB_DIR/tree
git clone -q "$("$ROOT/bats/make-repo.sh" sha1)" "$tree" || exit 1
file=$(git -C "$tree" log --format= --name-only --diff-filter=M | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')

ab diff git -C "$tree" diff HEAD~10 HEAD
ab status git -C "$tree" status
ab log-stat git -C "$tree" log --stat -n 25
ab log-oneline git -C "$tree" log --oneline
ab rev-list git -C "$tree" rev-list --objects --all
ab blame git -C "$tree" blame "$file"
ab checkout bash -c "git -C '$tree' checkout -q HEAD~100 && git -C '$tree' checkout -q main"
