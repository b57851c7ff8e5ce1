#!/bin/bash
# dist.sh - the source archive, to standard output: dist.sh VERSION. What git tracks, or without git all but build*; the same bytes each time.
set -eu
cd "$(dirname "$0")/.."
files=$(mktemp)
trap 'rm -f "$files"' EXIT
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
	git ls-files -z >"$files"
	epoch=$(git log -1 --format=%ct)
else
	find . -type f -not -path './build*' -printf '%P\0' >"$files"
	epoch=$(dpkg-parsechangelog -S Timestamp)
fi
sort -z "$files" | tar -c --no-recursion --transform "s,^,fastsha-$1/,S" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rwX \
	--mtime="@$epoch" --null -T - | xz -T1
