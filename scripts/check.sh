#!/bin/bash
# check.sh - runs every test and prints totals: shellcheck, build/tests/test_*, bats/*.bats. `make check` builds what it needs.
# check.sh NAME... runs only these (git.bats, test_sha1, shellcheck). A test program exits 0 for passed, 77 for skipped.
# GIT_SUITE=1 adds the unit git-suite, 60 scripts of git's own tests; each counts. DISTROS=1 adds, of distros.bats, Debian's releases
# but 12, on which CI runs, and nothing that builds a git.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=$(realpath -m "${BUILD:-build}")
export BUILD

# Needs other systems' packages: it has a make target of its own, which builds gits, too.
own_target=' distros.bats '

scripts() {
	find . \( -name .git -o -path './build*' \) -prune -o -type f \( -name '*.sh' -o -name '*.bash' -o -name '*.bats' \) -print
	find .ci -type f
}

limit=$((1200 + 20000 * ${CHECK_LONG:-0})) # seconds

run_unit() {
	case $1 in
	git-suite) JOBS=1 timeout 2400 scripts/check-git.sh short ;;
	shellcheck) scripts | xargs shellcheck -x ;;
	distros.bats) timeout "$limit" bats --tap ${DISTROS:+-f '^Debian [^1]|^Debian 1[^2]'} bats/distros.bats ;;
	*.bats) timeout "$limit" bats --tap "bats/$1" ;;
	*) timeout "$limit" "$BUILD/tests/$1" ;;
	esac
}

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

if [ $# -gt 0 ]; then
	units=("$@")
else
	units=()
	[ -z "${GIT_SUITE-}" ] || units+=(git-suite) # the longest one first
	[ -z "${DISTROS-}" ] || units+=(distros.bats)
	units+=(shellcheck)
	for f in tests/test_*.c; do [ -e "$f" ] && f=${f##*/} && units+=("${f%.c}"); done
	for f in bats/*.bats; do [[ $own_target == *" ${f##*/} "* ]] || units+=("${f##*/}"); done
fi

passed=0 failed=0 skipped=0

# Prints how the finished unit did, with its log where something failed, and adds to the totals.
finish() {
	local unit=$1 log=$logs/$1 rc secs p=0 f=0 s=0
	read -r rc secs <"$log.end"
	if [[ $unit == *.bats ]]; then
		s=$(grep -cE '^ok [0-9]+ .*# skip' "$log")
		p=$(($(grep -cE '^ok [0-9]+ ' "$log") - s))
		f=$(grep -cE '^not ok [0-9]+ ' "$log")
		[ "$rc" = 0 ] || [ "$f" != 0 ] || f=1
	elif [ "$unit" = git-suite ] && [ "$rc" != 77 ]; then
		read -r p f < <(sed -n 's/^\([0-9]*\) scripts, .*, \([0-9]*\) only with the library$/\1 \2/p' "$log") || p=0
		f=${f:-0}
		[ "$rc" = 0 ] || [ "$f" != 0 ] || f=1
		p=$((p > f ? p - f : 0))
	else
		case $rc in 0) p=1 ;; 77) s=1 ;; *) f=1 ;; esac
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '%-6s %-24s %4d passed' "$( ((f)) && echo FAILED || echo ok)" "$unit" "$p"
	((f == 0)) || printf ', %d failed' "$f"
	((s == 0)) || printf ', %d skipped' "$s"
	printf '  (%s s)\n' "$secs"
	if ((f)); then
		sed 's/^/       | /' "$log"
	elif [[ $unit == *.bats ]]; then
		sed -n 's/^ok [0-9]* \(.*\) # skip *\(.*\)/       | skipped: \1: \2/p' "$log"
	elif ((s)); then
		tail -n 1 "$log" | sed 's/^/       | skipped: /'
	fi
}

running=0
declare -A unit_of
reap() {
	local pid
	wait -n -p pid
	finish "${unit_of[$pid]}"
	running=$((running - 1))
}
for unit in "${units[@]}"; do
	[ $running -lt "$(nproc)" ] || reap
	(
		start=$EPOCHREALTIME
		run_unit "$unit" >"$logs/$unit" 2>&1 </dev/null
		rc=$?
		elapsed=$((${EPOCHREALTIME/./} - ${start/./}))
		printf '%d %d.%d\n' $rc $((elapsed / 1000000)) $((elapsed / 100000 % 10)) >"$logs/$unit.end"
	) &
	unit_of[$!]=$unit
	running=$((running + 1))
done
while [ $running -gt 0 ]; do reap; done

printf '%d passed, %d failed' $passed $failed
((skipped == 0)) || printf ', %d skipped' $skipped
echo
((failed == 0))
