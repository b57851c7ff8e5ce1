#!/bin/bash
# demo.sh - git fsck stock and preloaded, on the repository of make-repo.sh; `make demo` builds first
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR-}" ] && [ "${TERM-dumb}" != dumb ]; then
	bold=$'\e[1m' plain=$'\e[0m'
fi

echo "${bold}fastsha: the same git, faster$plain"
echo
printf '%-12s %s, %s processors\n' machine "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
printf '%-12s %s (%s), as the distribution ships it\n' git "$(git --version | cut -d' ' -f3)" "$(command -v git)"
[ -d "$BUILD/repo-sha1.git" ] || printf '%-12s making one from the headers and documents on this machine, once ...\n' repository
repo=$(bats/make-repo.sh sha1)
objects=$(git -C "$repo" count-objects -v | awk '/^(count|in-pack):/ { n += $2 } END { print n }')
printf '%-12s %s objects, %s commits, %s (%s)\n' repository "$objects" "$(git -C "$repo" rev-list --count main)" \
	"$(du -sh "$repo" | cut -f1)" "${repo#"$PWD"/}"
echo
echo "Now \`git fsck\` without and with LD_PRELOAD=$BUILD/libfastsha.so, 10 times each:"
echo
"$BUILD/fastsha" ab -n 10 git -C "$repo" fsck --full --root --tags
echo
echo "Try it:  LD_PRELOAD=$(realpath "$BUILD")/libfastsha.so git log -p"
echo "or:      $BUILD/fastsha ab git log -p"
