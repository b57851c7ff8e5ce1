#!/usr/bin/env bats
# memcmp.bats - the memcmp door in unmodified programs: before it is ready, on every level, closed, and what it costs to be there

load helpers

@test "memcmp is right before the library's relocations and before its constructor" {
	EARLY=$BUILD/tests/preload_early.so
	# Which libfastsha.so did answer: the loader's own account, with its relocation still ahead.
	LD_DEBUG=bindings,files LD_PRELOAD=$LIB:$EARLY /bin/true >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/debug"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/out")" "resolver ran, 0 wrong; constructor 0 wrong; answer 42"
	grep -q "binding file $EARLY .* to $LIB .*\`memcmp'" "$BATS_TEST_TMPDIR/debug"
	early=$(grep -n "binding file $EARLY .*\`memcmp'" "$BATS_TEST_TMPDIR/debug" | head -n 1 | cut -d: -f1)
	own=$(grep -n "binding file $LIB " "$BATS_TEST_TMPDIR/debug" | head -n 1 | cut -d: -f1)
	[ "$early" -lt "$own" ]
}

# A program of nothing but comparisons: Python's bytes, sorted and searched.
comparisons='
import random
random.seed(7)
words = [bytes(random.choices(b"ab\x00\xff", k=random.randrange(90))) for i in range(3000)]
print(hash(tuple(sorted(words))) != 0, sum(a == b for a in words[:300] for b in words), sum(a < b for a in words[:300] for b in words))
'

@test "the same results on every level, and the report names the kernel" {
	wanted=$(python3 -c "$comparisons")
	for level in avx2 avx512; do
		REPORT=$BATS_TEST_TMPDIR/report.$level
		FASTSHA_CPU=$level REPORT=$REPORT run shim python3 -c "$comparisons"
		assert_output "$wanted"
		kernel=$(grep -o '"name":"memcmp"[^}]*' "$REPORT" | sed -n 's/.*"kernel":"\([^"]*\)".*/\1/p' | head -n 1)
		case "$(grep -o '"cpu":"[a-z0-9]*' "$REPORT" | head -n 1)" in
		*\"generic | *\"ssse3) continue ;; # no such processor: the next test
		*\"avx2) assert_equal "$kernel" avx2 ;;
		*) [[ $kernel == avx512 || $kernel == avx2 ]] ;; # avx2 where 512-bit registers lower the clock
		esac
		[ "$(door_sum memcmp calls)" -gt 100000 ]
	done
}

@test "the report counts every call of memcmp and bcmp" {
	calls='import ctypes, sys
everybody = ctypes.CDLL(None)
print([getattr(everybody, sys.argv[1])(b"abc", b"abd", n) != 0 for n in (0, 2, 3) for i in range(10000)].count(True))'
	for name in memcmp bcmp __memcmpeq; do
		REPORT=$BATS_TEST_TMPDIR/$name
		REPORT=$REPORT run shim python3 -c "$calls" "$name"
		[[ $output == 10000 || $name == __memcmpeq ]] # which glibc has since 2.35
		[ "$(door_sum memcmp calls)" -ge 30000 ]
	done
}

@test "without AVX2 the door hands every call to libc, and says why" {
	wanted=$(python3 -c "$comparisons")
	for level in generic ssse3; do
		REPORT=$BATS_TEST_TMPDIR/report.$level
		FASTSHA_CPU=$level REPORT=$REPORT run shim python3 -c "$comparisons"
		assert_output "$wanted"
		assert_equal "$(door_sum memcmp calls)" 0
		assert_regex "$(door_why memcmp)" '^off: without AVX2'
	done
}

@test "FASTSHA=off and -memcmp hand every call to libc" {
	wanted=$(python3 -c "$comparisons")
	for setting in off none -memcmp git; do
		REPORT=$BATS_TEST_TMPDIR/report.$setting
		FASTSHA=$setting REPORT=$REPORT run shim python3 -c "$comparisons"
		assert_output "$wanted"
		assert_equal "$(door_sum memcmp calls)" 0
		grep -q '"name":"memcmp","state":"off"' "$REPORT"
	done
}

@test "sort, grep, perl and git see no difference" {
	seq 1 30000 | awk '{ print ($1 * 7919) % 30011, "line of some length, to be compared", $1 % 17 }' >"$BATS_TEST_TMPDIR/lines"
	same sort "$BATS_TEST_TMPDIR/lines"
	same sort -u -k2 "$BATS_TEST_TMPDIR/lines"
	same grep -c 'compared 1[0-6]$' "$BATS_TEST_TMPDIR/lines"
	same perl -e 'print sort <>' "$BATS_TEST_TMPDIR/lines"
	same git -C "$(repository)" log --stat -n 300
	same git -C "$(repository)" diff main~20 main
	assert_served memcmp 100000
}
