#!/bin/bash
# check-git.sh - git's own test suite, run by the installed git under the library: check-git.sh [short | SCRIPT...]
#
# Fetches the source package of the installed git by apt, builds its test helpers under build/git-suite, and runs t0*, t1*, t5*, t6* and t7*
# (short: the scripts of scripts/check-git.list) with LD_PRELOAD. What fails is run again without; what fails only with the library, and does
# so once more alone, is a failure. Prints how many scripts and assertions ran, and how many bytes git's processes had hashed by the library.
# Keeps what failing scripts printed in build/git-suite/results. JOBS=N: so many scripts at once; TIMEOUT=N: seconds for one of them;
# RESUME=1: goes on where a run that was interrupted has stopped.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD
build=${BUILD:-$root/build}
case $build in /*) ;; *) build=$root/$build ;; esac
suite=$build/git-suite
jobs=${JOBS:-$(nproc)}
timeout=${TIMEOUT:-1800}
unset LD_PRELOAD "${!FASTSHA@}"
export LC_ALL=C

version=$(dpkg-query -W -f='${source:Version}' git) || { echo 'check-git: needs the git package of a Debian system' >&2; exit 1; }
upstream=${version#*:}
source=$suite/git-${upstream%-*}

if [ ! -e "$suite/built-$version" ]; then
	rm -rf "$source"
	mkdir -p "$source"
	echo "fetching the source of git $version ..."
	scripts/fetch-source.sh "$suite" "git=$version" >"$suite/log" 2>&1 || {
		cat "$suite/log" >&2
		echo "the source package of git $version cannot be had: $(grep '^E:' "$suite/log" | tail -n 1)"
		exit 77
	}
	tar -xf "$suite/git_${upstream%-*}.orig.tar.xz" --strip-components=1 -C "$source"
	tar -xf "$suite/git_$upstream.debian.tar.xz" -C "$source"
	{
		# As Debian builds it, so far as the helpers and the suite's prerequisites go.
		while read -r patch; do
			[ -z "$patch" ] || [[ $patch == '#'* ]] || patch -s -p1 -d "$source" <"$source/debian/patches/$patch" || exit
		done <"$source/debian/patches/series" &&
			make -s -C "$source" -j "$jobs" CFLAGS=-O1 prefix=/usr gitexecdir=/usr/lib/git-core NO_OPENSSL=1 NO_TCLTK=1 NO_GETTEXT=1 \
				NO_PERL_CPAN_FALLBACKS=1 PYTHON_PATH=/usr/bin/python3 USE_LIBPCRE2=1 \
				t/helper/test-tool t/helper/test-fake-ssh GIT-BUILD-OPTIONS &&
			make -s -C "$source/templates"
	} >>"$suite/log" 2>&1 || {
		tail -n 20 "$suite/log" >&2
		echo "check-git: cannot build the test helpers of git $version" >&2
		exit 1
	}
	touch "$suite/built-$version"
fi

cd "$source/t" || exit 1
if [ "${1-}" = short ]; then
	mapfile -t scripts < <(grep -v '^#' "$root/scripts/check-git.list" | while read -r name; do ls "$name"-*.sh; done)
elif [ $# -gt 0 ]; then
	scripts=("$@")
else
	scripts=(t[01567]*.sh)
fi

results=$suite/results
library=$results/libfastsha.so
if [ -z "${RESUME-}" ] || [ ! -e "$library" ]; then
	rm -rf "$results"
	mkdir "$results"
	# As it is now: the tests take long, and somebody may build meanwhile.
	cp "$build/libfastsha.so" "$library" || exit 1
fi
space=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)" cg.XXXXXX)
trap 'rm -rf "$space"' EXIT
# Some of the tests skip themselves for root, to whom nothing is forbidden.
as=
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups test -r test-lib.sh -a -r "$library" -a -x "$source/t"; then
	as='setpriv --reuid=65534 --regid=65534 --clear-groups'
	chown 65534:65534 "$space"
fi

# run_script SIDE SCRIPT: what it prints to $results/SCRIPT.SIDE; its exit code, its time and what the git door did beside that.
run_script() {
	local side=$1 script=$2 out=$results/$2.$1 rc=0 start=$SECONDS
	# A short path: gpg-agent makes a socket below it. No lint of the scripts' own text, which takes a sixth of the time.
	export GIT_TEST_INSTALLED=/usr/bin TEST_NO_MALLOC_CHECK=1 GIT_TEST_CHAIN_LINT=0 TEST_OUTPUT_DIRECTORY=$space/${script%%-*}.$side
	# shellcheck disable=SC2086 # words, or none
	$as mkdir -p "$TEST_OUTPUT_DIRECTORY"
	[ "$side" = stock ] || export LD_PRELOAD=$library FASTSHA_REPORT=$space/$script.report
	# shellcheck disable=SC2086 # words, or none
	$as timeout "$timeout" bash "./$script" </dev/null >"$out" 2>&1 || rc=$?
	unset LD_PRELOAD
	echo "$((SECONDS - start)) $script" >"$out.time"
	if [ "$side" != stock ]; then
		sed -n 's/.*"name":"git","state":"on".*"calls":\([0-9]*\),"bytes":\([0-9]*\)},{"name":"memcmp".*/\1 \2/p' "$FASTSHA_REPORT" 2>/dev/null |
			awk '$1 { n++; b += $2 } END { printf "%d %.0f\n", n, b }' >"$out.door"
		rm -f "$FASTSHA_REPORT"
	fi
	rm -rf "$TEST_OUTPUT_DIRECTORY"
	echo "$rc" >"$out.rc" # the last: it says that the rest is there
	[ "$rc" = 0 ] || echo "$script: exit code $rc ($side)"
}
export -f run_script
export results space library timeout as

echo "git $version, ${#scripts[@]} scripts"
# run_scripts SIDE JOBS SCRIPT...
run_scripts() {
	local side=$1 at_once=$2
	shift 2
	# shellcheck disable=SC2016 # the inner shell expands
	[ $# = 0 ] || printf '%s\n' "$@" | xargs -P "$at_once" -I{} bash -c 'run_script "$@"' bash "$side" {}
}

failures() {
	sed -n '/# TODO known breakage/d; s/^not ok [0-9]* - //p' "$1" | sort
}
# only_shim SIDE SCRIPT: whether SIDE, a run with the library, failed where the one without did not, or ended otherwise; prints how.
only_shim() {
	local shim=$results/$2.$1 stock=$results/$2.stock new
	new=$(comm -23 <(failures "$shim") <(failures "$stock"))
	[ -n "$new" ] || [ "$(cat "$shim.rc")" != "$(cat "$stock.rc")" ] || return
	printf '    %s\n' "${new:-exit code $(cat "$shim.rc"), without the library $(cat "$stock.rc")}"
}

mapfile -t left < <(for script in "${scripts[@]}"; do [ -e "$results/$script.shim.rc" ] || echo "$script"; done)
run_scripts shim "$jobs" "${left[@]}"
failed=() suspects=() only=0
for script in "${scripts[@]}"; do [ "$(cat "$results/$script.shim.rc")" = 0 ] || failed+=("$script"); done
run_scripts stock "$jobs" "${failed[@]}"
for script in "${failed[@]}"; do
	only_shim shim "$script" >/dev/null && suspects+=("$script")
done
# Alone: some scripts wait for something for a limited time.
run_scripts again 1 "${suspects[@]}"
for script in "${suspects[@]}"; do
	if [ "$(cat "$results/$script.again.rc")" != 0 ] && only_shim again "$script" >"$results/$script.only"; then
		only=$((only + 1))
		echo "FAILED only with the library: $script"
		cat "$results/$script.only"
		grep -A 40 '^not ok' "$results/$script.again" | grep -v 'TODO known' | head -n 60
	else
		echo "$script failed with the library, and passed when run again alone:"
		only_shim shim "$script"
	fi
done
assertions=$(cat "$results"/*.shim | grep -cE '^ok [0-9]')
skipped=$(cat "$results"/*.shim | grep -cE '^ok [0-9].*# skip')
read -r served processes bytes < <(cat "$results"/*.shim.door | awk '$1 { s++; n += $1; b += $2 } END { printf "%d %d %.0f\n", s, n, b }')
slowest=$(sort -rn "$results"/*.shim.time | head -n 5 | awk '{ printf "%s %d s, ", $2, $1 }')
echo "${#scripts[@]} scripts, $assertions assertions passed ($skipped of them skipped), ${#failed[@]} scripts failed, $only only with the library"
echo "in $served of the scripts, $processes processes had $bytes bytes hashed by the library"
echo "$SECONDS s; slowest: ${slowest%, }"
[ "$processes" -gt 0 ] || { echo 'FAILED: the library served none' >&2; exit 1; }
[ $only = 0 ]
