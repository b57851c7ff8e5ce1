#!/bin/bash
# ab-grep.sh - git grep in the object store, stock against preloaded, by number of threads: ab-grep.sh [-n RUNS]; a table and a picture for each of
# two expressions. The measurement of 2019 that led to threads in git grep for object stores: a literal with a class, and an extended one.
# shellcheck source=bats/ab-lib.bash
. "$(dirname "$0")/ab-lib.bash"
AB_RUNS=30
ab_begin "$@"

repo=${AB_REPO:-$("$ROOT/bats/make-repo.sh" sha1)} || exit 1
export HOME=$AB_DIR GIT_CONFIG_NOSYSTEM=1
cd "$repo" || exit 1
picture=()
n=0
for expression in 'abcd[02]' '(static|extern) (int|double) \*'; do
	n=$((n + 1))
	! command -v gnuplot >/dev/null || picture=(--plot "$BUILD/ab-grep-$n.svg")
	"$BUILD/fastsha" ab -n "$AB_RUNS" --sweep threads=1,2,8 "${picture[@]}" -- git grep '--threads={threads}' -E -e "$expression" main || exit 1
done
