#!/usr/bin/env bats
# hostile.bats - surroundings that are hard on a preloaded library: limits, sandboxes, other preloads, debuggers, threads, forks, plugins
# shellcheck disable=SC2030,SC2031 # every test has a shell of its own

load helpers

setup_file() {
	export REPO=$BATS_FILE_TMPDIR/repo
	# Loose objects and a pack, some hundred KiB: every door of git has something to do.
	git init -q "$REPO"
	head -c 300000 /dev/urandom >"$REPO/noise"
	for n in {1..40}; do seq "$n" $((n * 50)) >"$REPO/$n"; done
	git -C "$REPO" add .
	git -C "$REPO" commit -qm packed
	git -C "$REPO" repack -qad
	for n in {1..40}; do seq "$n" $((n * 60)) >"$REPO/$n"; done
	git -C "$REPO" add .
	git -C "$REPO" commit -qm loose
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	TESTS=$BUILD/tests
	PLUGINS=("$TESTS/plugin_own.so" "$TESTS/plugin_other.so" "$TESTS/plugin_needs.so" "$TESTS/plugin_crypto.so")
}

# Skips where CMD, which tries what the test needs, fails.
needs() {
	"$@" >/dev/null 2>&1 || skip "not possible here: $*"
}

# The path of a library that another package brings.
library() {
	local found
	found=$(find /usr/lib /lib -name "$1" 2>/dev/null | head -n 1)
	[ -n "$found" ] || skip "no $1 here"
	echo "$found"
}

# In a mount namespace, where the test may do as it likes: as root, or as root of a user namespace.
apart() {
	local user=()
	[ "$(id -u)" = 0 ] || user=(-U -r)
	unshare -m --propagation private "${user[@]}" "$@"
}

# A git that checks everything, and that the git door has hashed it.
fsck_served() {
	same "$@" git -C "$REPO" fsck --full
	assert_equal "$status" 0
	assert_served git 300000
}

# ---- Limits ---------------------------------------------------------------------------------------------

@test "little memory: git's answers and failures are the same" {
	for kib in 200000 60000 30000 12000; do
		same bash -c "ulimit -v $kib; exec git -C '$REPO' fsck --full"
	done
	same bash -c "ulimit -v 200000; exec git -C '$REPO' fsck --full"
	assert_served git 300000
}

@test "a small stack" {
	fsck_served bash -c 'ulimit -s 128; exec "$@"' bash
}

@test "no descriptors left: the same failures" {
	for n in 5 6 7 8; do
		same bash -c "exec 3>&- 4>&-; ulimit -n $n; exec git -C '$REPO' fsck --full"
	done
	same bash -c "exec 3>&-; ulimit -n 30; exec git -C '$REPO' fsck --full"
	assert_served git 300000
}

@test "standard input, output and error closed" {
	for closed in '<&-' '>&-' '2>&-' '<&- >&-' '<&- >&- 2>&-'; do
		same bash -c "git -C '$REPO' fsck --full $closed; echo \$?; git -C '$REPO' log -p $closed; echo \$?"
	done
	assert_served git 300000
}

@test "no /proc" {
	needs apart mount -t tmpfs none /proc
	# shellcheck disable=SC2016 # the inner shell expands
	fsck_served apart bash -c 'mount -t tmpfs none /proc && exec "$@"' bash
	grep -q '"program":"git"' report
}

@test "a read-only file system" {
	needs apart mount --bind "$REPO" "$REPO"
	for side in stock shim; do
		"$side" apart bash -c "mount --bind '$REPO' '$REPO' && mount -o remount,ro,bind '$REPO' && git -C '$REPO' fsck --full && git -C '$REPO' gc" \
			>$side.out 2>&1 || echo "exit code $?" >>$side.out
	done
	diff stock.out shim.out
	grep -q 'exit code' stock.out
	assert_served git 300000
}

# ---- A report that cannot be written ---------------------------------------------------------------------

# The report goes to $1: the same output and exit code, and one line more on standard error.
report_fails() {
	git hash-object "$REPO/noise" >stock.out
	LD_PRELOAD=$LIB FASTSHA_REPORT=$1 timeout 20 "${@:2}" git hash-object "$REPO/noise" >shim.out 2>shim.err
	cmp stock.out shim.out
	assert_equal "$(wc -l <shim.err)" 1
	grep -q '^fastsha: FASTSHA_REPORT: cannot ' shim.err
}

@test "the report: a full disk, a folder, no permission, a pipe without a reader" {
	report_fails /dev/full
	report_fails /
	report_fails "$PWD/missing/report"
	mkfifo pipe
	report_fails "$PWD/pipe"
}

@test "the report: a limit of the file's size does not end the program" {
	head -c 100000 /dev/zero >large
	report_fails "$PWD/large" bash -c 'ulimit -f 50; exec "$@"' bash
}

@test "the report: a pipe whose reader is gone does not end the program" {
	LD_PRELOAD=$LIB FASTSHA_REPORT=/dev/fd/7 bash -c "git hash-object '$REPO/noise'; sleep 0.2; exit 5" \
		7> >(exec true) >out 2>err || rc=$?
	assert_equal "$rc" 5
	assert_equal "$(cat out)" "$(git hash-object "$REPO/noise")"
}

# ---- Sandboxes -------------------------------------------------------------------------------------------

# The numbers of the system calls that CMD makes without the library.
calls_of() {
	strace -f -n -o trace "$@" >/dev/null
	sed -n 's/^[0-9]* *\[ *\([0-9]*\)\].*/\1/p' trace | sort -un | paste -sd,
}

@test "seccomp: a filter that lets through what git itself needs, and kills" {
	needs strace -o /dev/null true
	calls=$(calls_of git -C "$REPO" fsck --full),59
	# What it needs to write its report.
	report=$(calls_of bash -c 'echo >>r'),257,$(calls_of readlink /proc/self/exe),39,14
	"$TESTS/client_filter" only "$calls" git -C "$REPO" fsck --full >stock.out 2>&1
	LD_PRELOAD=$LIB "$TESTS/client_filter" only "$calls" git -C "$REPO" fsck --full >shim.out 2>&1
	diff stock.out shim.out
	shim "$TESTS/client_filter" only "$calls,$report" git -C "$REPO" fsck --full
	assert_served git 300000
}

@test "seccomp: with the table doors closed, the library makes no system call of its own" {
	needs strace -o /dev/null true
	for empty in "$TESTS/preload_empty.so" "$LIB"; do
		strace -o "trace.${empty##*/}" -E "LD_PRELOAD=$empty" -E FASTSHA=memcmp,inflate,checksum git hash-object "$REPO/noise" >/dev/null
		sed 's/(.*//' "trace.${empty##*/}" | grep -v '^+' >"calls.${empty##*/}"
	done
	# Mapping the library apart: a larger one has more segments.
	diff <(grep -v mmap calls.preload_empty.so) <(grep -v mmap calls.libfastsha.so)
}

@test "constants that may not be made writable: the git door stays closed, and git works" {
	same "$TESTS/client_filter" readonly git -C "$REPO" fsck --full
	[ "$status" != 77 ] || skip 'no seccomp here'
	assert_equal "$status" 0
	[[ $(door_why git git) == 'off: '*'forbids to make '*' writable'* ]] || fail "$(cat report)"
	assert_equal "$(door_sum git bytes)" 0
	REPORT=$PWD/report assert_served memcmp
}

@test "memory that may not be made executable: nothing of ours asks for it" {
	fsck_served "$TESTS/client_filter" noexec
}

# filtered MODE CMD...: CMD under client_filter, and its exit code on standard output; 128 and the signal's number, 31, for one that was killed.
filtered() {
	# shellcheck disable=SC2016 # the inner shell expands
	same bash -c 'exec 2>/dev/null; "$@"; echo "exit code $?"' bash "$TESTS/client_filter" "$@"
	[ "$(cat stock.out)" != 'exit code 77' ] || skip 'no seccomp here'
}

@test "seccomp: a filter that kills at mprotect kills git in the loader, with the library and without" {
	filtered kill git --version
	assert_equal "$(cat stock.out)" 'exit code 159'
}

@test "seccomp: a filter that kills at mprotect(PROT_WRITE) kills git at its first thread; before that, closed doors help" {
	filtered killwrite git -C "$REPO" grep --threads=2 --cached 17
	assert_equal "$(cat stock.out)" 'exit code 159'
	# Without threads it lives, where the doors that swap pointers are closed; where they are open, it is killed. No other way out: asking
	# whether there is a filter, or trying in a child, takes system calls that strict filters kill at, too.
	FASTSHA=-git,-libcrypto filtered killwrite git -C "$REPO" fsck --full
	assert_equal "$(tail -n 1 stock.out)" 'exit code 0'
	assert_served memcmp
}

# ---- The loader ------------------------------------------------------------------------------------------

@test "LD_BIND_NOW, and a preload path relative to the folder, with spaces, twice" {
	LD_BIND_NOW=1 fsck_served
	mkdir 'a folder'
	cp "$LIB" 'a folder/lib.so'
	(cd 'a folder' && LD_PRELOAD="./lib.so" FASTSHA_REPORT=$PWD/../r1 git hash-object "$REPO/noise")
	REPORT=$PWD/r1 assert_served git 300000
	LD_PRELOAD="$LIB $LIB:$LIB" FASTSHA_REPORT=$PWD/r2 git hash-object "$REPO/noise"
	REPORT=$PWD/r2 assert_served git 300000
	assert_equal "$(wc -l <r2)" 1
}

@test "two copies of the library at once" {
	cp "$LIB" other.so
	PRELOAD_TOO=$PWD/other.so fsck_served
	# The second finds a table that is not git's own any more, and what it finds is right.
	PRELOAD_TOO=$PWD/other.so same "$TESTS/client_threads" stacks 65536
	assert_equal "$status" 0
}

@test "LD_AUDIT" {
	LD_AUDIT=$TESTS/preload_audit.so fsck_served
	LD_AUDIT=$TESTS/preload_audit.so same "$TESTS/client_plugins" together "${PLUGINS[@]}"
	assert_equal "$status" 0
}

@test "plugins with functions of the same names, loaded and unloaded in turn" {
	same "$TESTS/client_plugins" reload "${PLUGINS[@]}"
	assert_equal "$status" 0
	assert_equal "$(wc -l <stock.out)" 160
	assert_served libcrypto
	assert_served checksum 5000000
	assert_served inflate 400000
}

@test "libraries that a constructor before ours loads by dlopen, and that go again" {
	LOADS=${PLUGINS[3]} PRELOAD_TOO=$TESTS/preload_loads.so same "$TESTS/client_plugins" reload "${PLUGINS[@]}"
	assert_equal "$status" 0
	assert_served checksum 5000000
	assert_served inflate 400000
}

@test "plugins with functions of the same names at once: each finds its own" {
	same "$TESTS/client_plugins" together "${PLUGINS[@]}"
	assert_equal "$status" 0
	same "$TESTS/client_plugins" together "${PLUGINS[3]}" "${PLUGINS[2]}" "${PLUGINS[1]}" "${PLUGINS[0]}"
	assert_equal "$status" 0
	assert_served libcrypto
	assert_served checksum
}

@test "plugins in namespaces of their own (dlmopen)" {
	same "$TESTS/client_plugins" apart "${PLUGINS[@]}"
	assert_equal "$status" 0
}

@test "libcrypto, loaded and unloaded 200 times" {
	same "$TESTS/client_plugins" reload "${PLUGINS[3]}" "${PLUGINS[3]}" "${PLUGINS[3]}" "${PLUGINS[3]}" "${PLUGINS[3]}"
	assert_equal "$status" 0
	assert_served libcrypto 60000
}

@test "/etc/ld.so.preload, and a set-user-ID program: served, and no setting counts" {
	[ "$(id -u)" = 0 ] || skip 'needs root'
	needs apart mount -t tmpfs none /mnt
	chmod a+rx . .. ../..
	cat >p.c <<-'EOF'
		#include <stdio.h>
		#include <string.h>
		#include <sys/auxv.h>
		#include <unistd.h>
		int main(void)
		{
			char line[1000];
			int mapped = 0;
			FILE *maps = fopen("/proc/self/maps", "r");
			while (maps && fgets(line, sizeof line, maps))
				mapped |= !!strstr(line, "/libfastsha.so");
			printf("secure %lu, mapped %d, user %d\n", getauxval(AT_SECURE), mapped, (int)geteuid());
			return memcmp(line, "x", 1) == 0;
		}
	EOF
	"${CC:-cc}" -o p p.c
	chmod 4755 p
	# shellcheck disable=SC2016 # the inner shell expands
	apart bash -e -c '
		cp -a /etc etc; mkdir lib; mount -t tmpfs none lib; cp "$1" lib/libfastsha.so; chmod -R a+rx lib
		echo "$PWD/lib/libfastsha.so" >etc/ld.so.preload
		mount --bind etc /etc
		chmod 1777 lib
		setpriv --reuid=65534 --regid=65534 --clear-groups env FASTSHA=nonsense FASTSHA_REPORT="$PWD/lib/report" ./p
		test ! -e lib/report
		FASTSHA_REPORT=$PWD/plain git hash-object "$2/noise"' bash "$LIB" "$REPO" >out 2>err || fail "$(cat out err)"
	assert_equal "$(cat err)" ''
	assert_equal "$(head -n 1 out)" 'secure 1, mapped 1, user 0'
	REPORT=$PWD/plain assert_served git 300000
}

@test "a program of another C library (musl)" {
	command -v musl-gcc >/dev/null || skip 'no musl-gcc here'
	echo '#include <stdio.h>
		int main(void) { puts("musl"); return 3; }' >m.c
	musl-gcc -o m m.c
	for preload in '' "$LIB"; do
		rc=0
		LD_PRELOAD=$preload ./m >out 2>err || rc=$?
		assert_equal "$rc $(cat out) $(cat err)" '3 musl '
	done
}

@test "a 32-bit program: the loader warns once, and it runs" {
	# With nothing of gcc's own libraries, whose 32-bit ones are seldom installed.
	printf '%s\n' '#include <stdlib.h>' 'void _start(void) { exit(3); }' >m.c
	needs "${CC:-cc}" -m32 -nostartfiles -nodefaultlibs -o m m.c -lc
	rc=0
	./m || rc=$?
	[ $rc = 3 ] || skip 'no 32-bit programs here'
	rc=0
	LD_PRELOAD=$LIB ./m 2>err || rc=$?
	assert_equal $rc 3
	assert_equal "$(wc -l <err)" 1
	grep -q 'wrong ELF class: ELFCLASS64): ignored' err
}

@test "a static program" {
	echo 'int main(void) { return 3; }' >m.c
	"${CC:-cc}" -static -o m m.c
	same ./m
	assert_equal "$status" 3
}

# ---- Other preloads and debuggers ------------------------------------------------------------------------

# Before ours and behind it.
beside() {
	local other
	other=$(library "$1")
	PRELOAD_TOO=$other fsck_served
	rm -f report
	LD_PRELOAD=$other:$LIB FASTSHA_REPORT=$PWD/report git -C "$REPO" fsck --full >out 2>&1
	diff out <(cat stock.out stock.err)
	assert_served git 300000
	PRELOAD_TOO=$other same "$TESTS/client_threads" stacks 65536
	assert_equal "$status" 0
}

@test "libeatmydata" {
	beside libeatmydata.so
}

@test "jemalloc" {
	beside libjemalloc.so.2
}

@test "mimalloc" {
	beside 'libmimalloc.so.2*'
}

@test "libfaketime" {
	FAKETIME='2020-01-01 00:00:00' beside libfaketime.so.1
}

@test "fakeroot" {
	command -v fakeroot >/dev/null || skip 'no fakeroot here'
	shim fakeroot git -C "$REPO" fsck --full
	assert_served git 300000
	LD_PRELOAD='' fakeroot env "LD_PRELOAD=$LIB" FASTSHA_REPORT="$PWD/r2" git -C "$REPO" fsck --full
	REPORT=$PWD/r2 assert_served git 300000
}

@test "AddressSanitizer's runtime, linked statically or first in the list" {
	cat >a.c <<-'EOF'
		#include <stdlib.h>
		#include <string.h>
		int main(int argc, char **argv)
		{
			char *a = malloc(20), *b = calloc(1, 200);
			memset(a, 0, 20);
			return memcmp(a, b, argc > 1 ? (size_t)atoi(argv[1]) : 20);
		}
	EOF
	sides=()
	export ASAN_OPTIONS=detect_leaks=0
	if command -v clang >/dev/null && clang -fsanitize=address -o static a.c; then sides+=(static); fi
	runtime=$("${CC:-cc}" -print-file-name=libasan.so)
	if "${CC:-cc}" -fsanitize=address -o shared a.c && [[ $(ldd shared) == *libasan* ]]; then sides+=(shared); fi
	[ ${#sides[@]} != 0 ] || skip 'no AddressSanitizer here'
	for program in "${sides[@]}"; do
		first=
		[ "$program" = static ] || first=$runtime:
		LD_PRELOAD=$first$LIB ./"$program"
		# It still sees what a program does wrong.
		run env "LD_PRELOAD=$first$LIB" ./"$program" 25
		assert_failure
		assert_output --partial 'heap-buffer-overflow'
	done
}

@test "valgrind: no error more than without the library" {
	command -v valgrind >/dev/null || skip 'no valgrind here'
	for side in stock shim; do
		$side valgrind -q --error-exitcode=99 --log-file=$side.log git hash-object "$REPO/noise" >$side.out
	done
	cmp stock.out shim.out
	diff <(sed 's/^==[0-9]*==//' stock.log) <(sed 's/^==[0-9]*==//' shim.log)
	[[ $(door_why memcmp git) == 'off: valgrind '* ]] || fail "$(cat report)"
	assert_served checksum 0
}

@test "gdb" {
	command -v gdb >/dev/null || skip 'no gdb here'
	needs gdb -batch -nx -ex run --args true
	gdb -batch -nx -ex "set environment LD_PRELOAD $LIB" -ex "set environment FASTSHA_REPORT $PWD/report" -ex run \
		--args git -C "$REPO" fsck --full >out 2>&1
	grep -q 'exited normally' out
	assert_served git 300000
}

@test "strace" {
	needs strace -o /dev/null true
	shim strace -f -o trace git -C "$REPO" fsck --full
	assert_served git 300000
}

# ---- Processors ------------------------------------------------------------------------------------------

@test "a processor without AVX and SHA-NI (qemu): git's own code where ours cannot run" {
	command -v qemu-x86_64 >/dev/null || skip 'no qemu-x86_64 here'
	git hash-object "$REPO/noise" >stock.out
	for cpu in qemu64 Nehalem core2duo; do
		qemu-x86_64 -cpu $cpu -E "LD_PRELOAD=$LIB" -E "FASTSHA_REPORT=$PWD/report" "$(command -v git)" hash-object "$REPO/noise" >shim.out
		cmp stock.out shim.out
		run tail -n 1 report
		assert_output --regexp '"cpu":"(generic|ssse3)"'
	done
	assert_equal "$(door_sum git bytes)" 0
	# Loaded, and closed by its own decision.
	run sort -u <(door_why memcmp)
	assert_output "off: without AVX2, libc's own is at least as fast"
}

@test "GLIBC_TUNABLES that hide features are honoured" {
	cpu() {
		rm -f report
		GLIBC_TUNABLES=glibc.cpu.hwcaps=$1 fsck_served
		sed -n '$s/.*"cpu":"\([^"]*\)".*/\1/p' report
	}
	all=$(cpu '')
	[[ $all == avx* ]] || skip 'nothing to hide here'
	[ "$(getconf GNU_LIBC_VERSION | tr -dc 0-9)" -ge 233 ] || skip 'this glibc keeps no record'
	[[ $(cpu -AVX512F,-AVX512VL) != avx512* ]]
	[[ $(cpu -AVX2,-AVX512F) == ssse3* ]]
}

# ---- Threads, forks, signals -----------------------------------------------------------------------------

@test "1,000 threads, also with the smallest stacks" {
	for size in 16384 262144; do
		same "$TESTS/client_threads" stacks $size
		[ "$status" != 2 ] || skip 'so many threads are not possible here'
		assert_equal "$status" 0
	done
	assert_served libcrypto 100000000
	assert_served inflate 500000
}

@test "fork while other threads hold the loader's lock, and begin streams" {
	same "$TESTS/client_threads" fork
	assert_equal "$status" 0
	FASTSHA=+deflate same "$TESTS/client_threads" fork
	assert_equal "$status" 0
	assert_served deflate
}

@test "vfork, exec and posix_spawn" {
	same "$TESTS/client_threads" vfork
	assert_equal "$status" 0
	assert_served libcrypto
}

@test "signal handlers that do the same as what they interrupt" {
	same "$TESTS/client_threads" signal
	assert_equal "$status" 0
	assert_served libcrypto 100000000
}
