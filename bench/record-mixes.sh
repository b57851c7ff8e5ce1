#!/bin/bash
# record-mixes.sh - records the memcmp calls of git commands on a repository, for bench/memcmp
# record-mixes.sh REPOSITORY >bench/memcmp_mixes.txt: lines `mix NAME CALLS`, `hist N D COUNT` (the most frequent; D is the first difference,
# D = N: none) and `run N D A B ...` (successive calls and their pointers modulo 4096)
set -eu
[ $# = 1 ] || { echo "usage: $0 REPOSITORY" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
trace=${BUILD:-$root/build}/bench/memcmp_trace.so
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent GIT_PAGER=cat LC_ALL=C

git clone -q "$1" "$tmp/tree"
cd "$tmp/tree"
pack=$(echo .git/objects/pack/*.pack)
file=$(git log --format= --name-only --diff-filter=M | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')

# record NAME COMMAND...: of the processes that it starts, the one with the most calls.
record() {
	local name=$1
	shift
	mkdir "$tmp/$name"
	MEMCMP_TRACE=$tmp/$name LD_PRELOAD=$trace "$@" >/dev/null 2>&1
	awk -v name="$name" '
		FNR == 1 && NR > 1 { finish() }
		/^hist/ { calls += $4; if (++lines <= 1000) hist = hist $0 "\n" }
		/^gap/ { runs = runs "\nrun" }
		/^call/ { runs = runs " " $2 " " $3 " " $4 " " $5 }
		function finish() { if (calls > most) { most = calls; text = hist substr(runs, 2) }; calls = lines = 0; hist = runs = "" }
		END { finish(); print "mix " name " " most; print text }' "$tmp/$name"/*
}

record index-pack git index-pack -o "$tmp/index" "$pack"
record repack git repack -a -d -f -q
record rev-list git rev-list --objects --all
record log-oneline git log --oneline
record log-stat git log --stat
record log-p git log -p
record diff git diff HEAD~30 HEAD
record blame git blame "$file"
record grep git grep -c static
record status git status
record checkout git checkout -q HEAD~100
record fsck git fsck
