#!/bin/bash
# ab-trust.sh - can `fastsha ab` be trusted? On an idle machine: ab-trust.sh [same] [slower], each 20 series of 30 pairs, a minute each.
# same: with no door open no difference may be claimed; slower: a program that takes 5 % longer with the library must be found to.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
SERIES=${SERIES:-20}
[ $# -gt 0 ] || set -- same slower

# interval ARGUMENT...: low and high end of the ratio's 95 % interval of one series.
interval() {
	"$BUILD/fastsha" ab -n 30 --only none -- "$BUILD/tests/client_spin" 170 "$@" 2>/dev/null |
		sed -n 's/^  wall .*  *\([0-9.]*\) to \([0-9.]*\)$/\1 \2/p'
}

failed=0
for part; do
	hits=0
	for ((i = 0; i < SERIES; i++)); do
		read -r low high <<<"$(interval "$([ "$part" = same ] && echo 0 || echo 5)")"
		case $part in
		same) hit=$(awk "BEGIN { print $low <= 1 && 1 <= $high }") ;;
		slower) hit=$(awk "BEGIN { print $high < 1 }") ;;
		esac
		hits=$((hits + hit))
		printf '%s %s-%s%s\n' "$part" "$low" "$high" "$([ "$hit" = 1 ] || echo ' <- wrong')"
	done
	echo "$part: right in $hits of $SERIES series"
	[ $((hits * 10)) -ge $((SERIES * 9)) ] || failed=1
done
exit $failed
