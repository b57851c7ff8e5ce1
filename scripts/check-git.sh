#!/bin/bash
# check-git.sh - git's own test suite, run by the installed git under the library: check-git.sh [short | SCRIPT...]
#
# Fetches the source package of the installed git by apt, builds its test helpers under build/git-suite, and runs t0*, t1*, t5*, t6* and t7*
# (short: the scripts of scripts/check-git.list) with LD_PRELOAD. What fails is run again without; what fails only with the library is a
# failure. Prints how many scripts and assertions ran, and how many bytes git's processes had hashed by the library.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD
build=${BUILD:-$root/build}
case $build in /*) ;; *) build=$root/$build ;; esac
suite=$build/git-suite
jobs=${JOBS:-$(nproc)}
unset LD_PRELOAD "${!FASTSHA@}"
export LC_ALL=C

version=$(dpkg-query -W -f='${source:Version}' git) || { echo 'check-git: needs the git package of a Debian system' >&2; exit 1; }
upstream=${version#*:}
source=$suite/git-${upstream%-*}

# The source package, with this system's own sources and keys, in folders of our own: nothing of the system's is changed.
fetch() {
	mkdir -p "$suite/lists/partial" && cd "$suite" || return
	# shellcheck disable=SC2016 # apt expands
	apt-get indextargets --format 'deb-src [signed-by=$(SIGNED_BY)] $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		sed 's/ \[signed-by=\]//' | sort -u >sources.list
	local apt=(apt-get -qq -o "Dir::Etc::SourceList=$suite/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=$suite/lists" -o "Dir::Cache=$suite" -o APT::Sandbox::User=root)
	"${apt[@]}" update && "${apt[@]}" source "git=$version"
}

if [ ! -e "$suite/built-$version" ]; then
	mkdir -p "$suite"
	if ! {
		[ -d "$source" ] || (fetch)
	} >"$suite/log" 2>&1 || ! {
		# As Debian builds it, so far as the helpers and the suite's prerequisites go.
		make -s -C "$source" -j "$jobs" CFLAGS=-O1 prefix=/usr gitexecdir=/usr/lib/git-core NO_OPENSSL=1 NO_CURL=1 NO_TCLTK=1 NO_GETTEXT=1 \
			NO_PERL_CPAN_FALLBACKS=1 PYTHON_PATH=/usr/bin/python3 USE_LIBPCRE2=1 t/helper/test-tool GIT-BUILD-OPTIONS &&
			make -s -C "$source/templates"
	} >>"$suite/log" 2>&1; then
		tail -n 20 "$suite/log" >&2
		echo "check-git: cannot build the test helpers of git $version" >&2
		exit 1
	fi
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

results=$(mktemp -d)
space=$results
[ ! -w /dev/shm ] || space=$(mktemp -d /dev/shm/check-git.XXXXXX)
trap 'rm -rf "$results" "$space"' EXIT

# run_script SIDE SCRIPT: its assertions to $results/SCRIPT.SIDE, its exit code and what the git door did beside them.
run_script() {
	local side=$1 script=$2 out=$results/$2.$1 rc=0
	export GIT_TEST_INSTALLED=/usr/bin TEST_NO_MALLOC_CHECK=1 TEST_OUTPUT_DIRECTORY=$space/$script.$side
	mkdir -p "$TEST_OUTPUT_DIRECTORY"
	[ "$side" = stock ] || export LD_PRELOAD=$build/libfastsha.so FASTSHA_REPORT=$space/$script.report
	timeout 900 bash "./$script" </dev/null >"$out" 2>&1 || rc=$?
	unset LD_PRELOAD
	echo "$rc" >"$out.rc"
	if [ "$side" = shim ]; then
		sed -n 's/.*"name":"git","state":"on".*"calls":\([0-9]*\),"bytes":\([0-9]*\)},{"name":"memcmp".*/\1 \2/p' "$FASTSHA_REPORT" 2>/dev/null |
			awk '$1 { n++; b += $2 } END { printf "%d %.0f\n", n, b }' >"$out.door"
		rm -f "$FASTSHA_REPORT"
	fi
	rm -rf "$TEST_OUTPUT_DIRECTORY"
	[ "$rc" = 0 ] || echo "$script: exit code $rc ($side)"
}
export -f run_script
export results space build

echo "git $version, ${#scripts[@]} scripts"
run_scripts() {
	local side=$1
	shift
	# shellcheck disable=SC2016 # the inner shell expands
	printf '%s\n' "$@" | xargs -P "$jobs" -I{} bash -c 'run_script "$@"' bash "$side" {}
}
run_scripts shim "${scripts[@]}"
failed=()
for script in "${scripts[@]}"; do [ "$(cat "$results/$script.shim.rc")" = 0 ] || failed+=("$script"); done
[ ${#failed[@]} = 0 ] || run_scripts stock "${failed[@]}"

only=0
failures() {
	sed -n '/# TODO known breakage/d; s/^not ok [0-9]* - //p' "$1" | sort
}
for script in "${failed[@]}"; do
	shim=$results/$script.shim stock=$results/$script.stock
	new=$(comm -23 <(failures "$shim") <(failures "$stock"))
	# A script can also end before its end.
	if [ -n "$new" ] || [ "$(cat "$shim.rc")" != "$(cat "$stock.rc")" ]; then
		only=$((only + 1))
		echo "FAILED only with the library: $script"
		printf '    %s\n' "${new:-exit code $(cat "$shim.rc"), without the library $(cat "$stock.rc")}"
		grep -A 40 '^not ok' "$shim" | grep -v 'TODO known' | head -n 60
	fi
done
assertions=$(cat "$results"/*.shim | grep -cE '^ok [0-9]')
skipped=$(cat "$results"/*.shim | grep -cE '^ok [0-9].*# skip')
read -r processes bytes < <(cat "$results"/*.door | awk '{ n += $1; b += $2 } END { printf "%d %.0f\n", n, b }')
echo "${#scripts[@]} scripts, $assertions assertions passed ($skipped of them skipped), ${#failed[@]} scripts failed, $only only with the library"
echo "$processes git processes had $bytes bytes hashed by the library"
[ "$processes" -gt 0 ] || { echo 'FAILED: the library served none' >&2; exit 1; }
[ $only = 0 ]
