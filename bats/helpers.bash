# helpers.bash - what the bats files share: the library, the stock run beside the preloaded one, proof that a door served
# shellcheck shell=bash disable=SC2034 # what it sets is for the test files

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
BUILD=$(realpath -m "${BUILD:-$ROOT/build}")
LIB=$BUILD/libfastsha.so
export BUILD

for library in bats-support bats-assert; do
	# Debian keeps them in /usr/lib/bats; BATS_LIB_PATH is for other places.
	load "${BATS_LIB_PATH:-/usr/lib/bats}/$library/load.bash"
done

# Nothing of the caller's own setup in what is compared.
unset LD_PRELOAD FASTSHA FASTSHA_CPU FASTSHA_REPORT OPENSSL_ia32cap
export LC_ALL=C TZ=UTC HOME=${BATS_RUN_TMPDIR:-/tmp} GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat GIT_TERMINAL_PROMPT=0
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_AUTHOR_DATE='2026-01-02T03:04:05Z'
export GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@example.org GIT_COMMITTER_DATE='2026-01-02T03:04:05Z'

# stock CMD...: as the distribution ships it.
stock() {
	"$@"
}

# shim CMD...: with the library; its report goes to $REPORT, $BATS_TEST_TMPDIR/report unless a test sets another.
shim() {
	LD_PRELOAD=$LIB${PRELOAD_TOO:+:$PRELOAD_TOO} FASTSHA_REPORT=${REPORT:-$BATS_TEST_TMPDIR/report} "$@"
}

# door_sum DOOR FIELD: the sum of FIELD (calls, bytes) of DOOR over the report's lines; empty where there is no report.
door_sum() {
	awk -v door="\"name\":\"$1\"," -v field="\"$2\":" '
		{
			rest = substr($0, index($0, door))
			sum += substr(rest, index(rest, field) + length(field))
		}
		END { printf "%.0f\n", sum }' "${REPORT:-$BATS_TEST_TMPDIR/report}" 2>/dev/null
}

# door_why DOOR [PROGRAM]: its state and reason, one line for each process.
door_why() {
	sed -n "s/.*\"program\":\"[^\"]*${2-}\",.*\"name\":\"$1\",\"state\":\"\([a-z]*\)\",\"why\":\"\([^\"]*\)\".*/\1: \2/p" \
		"${REPORT:-$BATS_TEST_TMPDIR/report}" 2>/dev/null
}

# assert_served DOOR [BYTES]: the report shows that DOOR answered calls, and at least BYTES bytes (1).
assert_served() {
	local bytes
	bytes=$(door_sum "$1" bytes)
	if [ "${bytes:-0}" -lt "${2:-1}" ]; then
		fail "door $1 served ${bytes:-no} bytes, expected at least ${2:-1}. Report, its first lines:
$(head -c 2000 "${REPORT:-$BATS_TEST_TMPDIR/report}" 2>&1)"
	fi
}

# same CMD...: runs CMD stock, then with the library, with the test's standard input (a file) for each; fails unless standard output, standard
# error and exit code are the same. Leaves them in stock.out, stock.err, $status. In a folder of its own for each side where $SIDES is set
# (the folders $SIDES/stock and $SIDES/shim, made alike by the test).
same() {
	local side rc_stock=0 rc_shim=0 t=$BATS_TEST_TMPDIR input=/dev/null
	[ -z "${INPUT-}" ] || input=$INPUT
	for side in stock shim; do
		local -n rc=rc_$side
		(
			[ -z "${SIDES-}" ] || cd "$SIDES/$side" || exit 99
			"$side" "$@"
		) <"$input" >"$t/$side.out" 2>"$t/$side.err" || rc=$?
	done
	status=$rc_stock
	if [ "$rc_stock" != "$rc_shim" ] || ! cmp "$t/stock.out" "$t/shim.out" || ! diff "$t/stock.err" "$t/shim.err"; then
		fail "differs with the library (exit codes $rc_stock and $rc_shim): $*
$(tail -n 5 "$t/shim.err")"
	fi
}

# repository [sha256]: the path of the test repository, made once under build/. Read-only: tests that write clone or copy it.
repository() {
	"$ROOT/bats/make-repo.sh" "${1:-sha1}"
}

# collision NAME FILE: writes the bytes of tests/collisions/NAME.hex to FILE.
collision() {
	grep -v '^#' "$ROOT/tests/collisions/$1.hex" | perl -ne 'chomp; print pack "H*", $_' >"$2"
}
