#!/bin/bash
# demo.sh - git fsck stock and preloaded, side by side, on the repository of make-repo.sh; `make demo` builds first
# shellcheck source=bats/ab-lib.bash
. "$(dirname "$0")/../bats/ab-lib.bash"
[ -r "$LIB" ] || ab_die "$LIB is not there: run make first"

pairs=7
bold='' green='' plain='' bar='#'
if [ -t 1 ] && [ -z "${NO_COLOR-}" ] && [ "${TERM-dumb}" != dumb ]; then
	bold=$'\e[1m' green=$'\e[32m' plain=$'\e[0m'
	# ab-lib.bash sets LC_ALL; the terminal's character set is in the others.
	[[ ${LANG-}${LC_CTYPE-} != *[Uu][Tt][Ff]* ]] || bar='█'
fi

# bar MICROSECONDS MAX: 40 characters for MAX.
draw_bar() {
	local i
	for ((i = 0; i < ($1 * 40 + $2 / 2) / $2; i++)); do printf %s "$bar"; done
}

echo "${bold}fastsha: the same git, faster$plain"
echo
printf '%-12s %s, %s processors\n' machine "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
printf '%-12s %s (%s), as the distribution ships it\n' git "$(git --version | cut -d' ' -f3)" "$(command -v git)"
[ -d "$BUILD/repo-sha1.git" ] || printf '%-12s making one from the headers and documents on this machine, once ...\n' repository
repo=$("$ROOT/bats/make-repo.sh" sha1) || exit 1
objects=$(git -C "$repo" count-objects -v | awk '/^(count|in-pack):/ { n += $2 } END { print n }')
printf '%-12s %s objects, %s commits, %s (%s)\n' repository "$objects" "$(git -C "$repo" rev-list --count main)" \
	"$(du -sh "$repo" | cut -f1)" "${repo#"$PWD"/}"
echo
echo "$bold    git fsck --full --root --tags$plain"
echo "$bold    LD_PRELOAD=${LIB#"$PWD"/} git fsck --full --root --tags$plain"
echo

command=(git -C "$repo" fsck --full --root --tags)
ab_compare fsck "${command[@]}"
printf '%-12s %12s %12s\n' '' stock preloaded
for ((i = 1; i <= pairs; i++)); do
	ab_pair "${command[@]}"
	echo "$stock $preloaded" >>"$AB_DIR/times"
	printf '%-12s %12s %12s\n' "run $i" "$(ab_time "$stock")" "$(ab_time "$preloaded")"
done
read -r stock preloaded ratio low high _ < <(ab_statistics <"$AB_DIR/times")
echo
printf '%-12s %12s  %s\n' stock "$(ab_time "$stock")" "$(draw_bar "$stock" "$stock")"
printf '%-12s %12s  %s%s%s\n' preloaded "$(ab_time "$preloaded")" "$green" "$(draw_bar "$preloaded" "$stock")" "$plain"
echo
printf '%-12s %s%.2f times as fast%s (median of %d alternating runs; 95 %% interval %.2f to %.2f)\n' result "$bold$green" "$ratio" "$plain" \
	$pairs "$low" "$high"
printf '%-12s the same, byte for byte (%s lines, exit code %s)\n' output \
	"$(cat "$AB_DIR/stock.out" "$AB_DIR/stock.err" | wc -l)" "$code"
printf '%-12s %s\n' served "through the doors $doors"
sed -n 's/.*"name":"git","state":"on","why":"\([^"]*\)","kernel":"\([^"]*\)".*/git'"'"'s door   \1, now by \2/p' "$AB_DIR/report" | head -n 1
echo
echo "Try it:  LD_PRELOAD=$LIB git log -p"
