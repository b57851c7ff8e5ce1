# Makefile - builds libfastsha.so, the fastsha command, the benchmarks and the tests; `make help` lists the targets
CC ?= gcc
HOSTCC ?= $(CC)
BUILD ?= build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
CFLAGS ?= -O2 -g
CPPFLAGS ?=
LDFLAGS ?=

WARNINGS = -Wall -Wextra -Wshadow
# The library: nothing exported but what exports.map lists; no loop turned back into the memcmp or memcpy that it implements,
# and no function that only glibc has, like those of _FORTIFY_SOURCE: musl loads the library, too.
SHIM_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -fPIC -fvisibility=hidden -fno-plt -fcf-protection=full -fno-builtin-memcmp -fno-builtin-bcmp -fno-stack-protector \
	-fno-jump-tables -U_FORTIFY_SOURCE \
	-ftls-model=global-dynamic $(if $(findstring clang,$(CC)),,-fno-tree-loop-distribute-patterns)
SHIM_LDFLAGS = -shared -Wl,-soname,libfastsha.so -Wl,--version-script=shim/exports.map -Wl,-z,relro,-z,now,-z,noexecstack,-z,defs,-z,text \
	-Wl,-z,ibt,-z,shstk -Wl,--hash-style=gnu -Wl,--as-needed -Wl,--exclude-libs,ALL \
	-nostartfiles -Wl,--sort-section=name # no crt files, whose symbols and functions cost a start more than they do; .bss.cold behind .bss
PROG_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -Ishim -I$(BUILD)

SHIM_SRC = $(wildcard shim/*.c)
SHIM_ASM = $(wildcard shim/*.S)
# In the library's order: what every process runs at its start lies together.
ENGINES = $(wildcard shim/inflate.c shim/sha1.c shim/sha1dc.c shim/sha256.c)
SHIM_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(ENGINES),$(SHIM_SRC)) $(ENGINES)) $(SHIM_ASM:%.S=$(BUILD)/%.o) $(BUILD)/sha1dc_kernels.o
# The static library: nothing is needed at run time.
SHIM_LIBS = -l:libdeflate.a

# The command. Linked statically with musl where musl-tools is installed: `fastsha run` starts in 0.4 ms then, in 1.7 ms with glibc.
VERSION ?= 1.0
CLI_CC ?= $(if $(shell command -v musl-gcc),musl-gcc -static,$(CC))
CLI_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -DLIBDIR='"$(LIBDIR)"' -DVERSION='"$(VERSION)"'
CLI = $(BUILD)/fastsha $(BUILD)/fastsha-probe $(BUILD)/fastsha-bench
CLI_OBJ = $(patsubst cli/%.c,$(BUILD)/cli/%.o,$(filter-out cli/probe.c cli/bench.c,$(wildcard cli/*.c)))
# `fastsha bench` compares the kernels, without the doors, with these libraries, each where it is installed.
BENCH_PEERS = $(shell pkg-config --exists $(1) 2>/dev/null && echo -DHAVE_$(2) && pkg-config $(3) $(1))
BENCH_CFLAGS = $(call BENCH_PEERS,libcrypto,LIBCRYPTO,--cflags) $(call BENCH_PEERS,botan-2,BOTAN,--cflags) $(call BENCH_PEERS,librhash,RHASH,--cflags)
BENCH_LIBS = $(call BENCH_PEERS,libcrypto,LIBCRYPTO,--libs) $(call BENCH_PEERS,botan-2,BOTAN,--libs) $(call BENCH_PEERS,librhash,RHASH,--libs)
KERNEL_OBJ = $(patsubst %,$(BUILD)/shim/%.o,sha1 sha256 sha1dc ni_kernels cpu elf_objects) $(BUILD)/sha1dc_kernels.o

# What the targets need, as Debian packages.
BUILD_PACKAGES = $(if $(findstring clang,$(CC)),clang,gcc) libc6-dev libdeflate-dev zlib1g-dev
DEMO_PACKAGES = $(BUILD_PACKAGES) git perl
CHECK_PACKAGES = $(DEMO_PACKAGES) bats bats-assert bats-support binutils curl eatmydata fakeroot faketime gdb libc6-dev-i386 libjemalloc2 libmimalloc2.0 libssl-dev musl-tools \
	gnuplot-nox groff hyperfine libbotan-2-dev librhash-dev openssl pkg-config procps python3 qemu-user sha1cdsum shellcheck strace util-linux valgrind \
	$(if $(GIT_SUITE),$(GIT_SUITE_PACKAGES))
# To build the helpers of git's own test suite, and what its scripts use.
GIT_SUITE_PACKAGES = $(BUILD_PACKAGES) git libexpat1-dev libpcre2-dev patch util-linux xz-utils

## make            the library, build/libfastsha.so, and the command, build/fastsha
all: $(BUILD)/libfastsha.so $(CLI)
	@:

$(BUILD)/libfastsha.so: $(SHIM_OBJ) shim/exports.map
	$(CC) $(CFLAGS) $(SHIM_LDFLAGS) $(LDFLAGS) -o $@ $(SHIM_OBJ) $(SHIM_LIBS)

# The doors' code is put where the linker places what runs at start, before libdeflate's hot parts.
$(BUILD)/shim/%.o: shim/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(SHIM_CFLAGS) $(COVERAGE) -MMD -MP -c -o $@ $<
	@$(if $(filter $<,$(ENGINES)),:,objcopy --rename-section .text=.text.startup $@)

# What is built in another folder has the same bytes: gcc passes these to the assembler, too.
$(BUILD)/shim/%.o: shim/%.S
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(filter -ffile-prefix-map=% -fdebug-prefix-map=%,$(CFLAGS)) -g -fcf-protection=full -MMD -MP -c -o $@ $<

# Collision-detecting SHA-1: kernels and a table are written by a program from two data files.
SHA1DC_GEN = $(BUILD)/sha1dc_gen
$(SHA1DC_GEN): shim/gen/sha1dc_gen.c
	@mkdir -p $(@D)
	$(HOSTCC) -O1 -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -o $@ $<

$(BUILD)/sha1dc_kernels.S: $(SHA1DC_GEN) shim/gen/sha1-unavoidable-conditions.tsv
	$(SHA1DC_GEN) kernels shim/gen/sha1-unavoidable-conditions.tsv >$@ || { rm -f $@; false; }

$(BUILD)/sha1dc_vectors.h: $(SHA1DC_GEN) shim/gen/sha1-disturbance-vectors.tsv
	$(SHA1DC_GEN) vectors shim/gen/sha1-disturbance-vectors.tsv >$@ || { rm -f $@; false; }

$(BUILD)/shim/sha1dc.o: $(BUILD)/sha1dc_vectors.h
$(BUILD)/shim/sha1dc.o: SHIM_CFLAGS += -I$(BUILD)

$(BUILD)/sha1dc_kernels.o: $(BUILD)/sha1dc_kernels.S
	$(CC) $(CPPFLAGS) -fcf-protection=full -c -o $@ $<

$(BUILD)/fastsha: $(CLI_OBJ)
	$(CLI_CC) $(CFLAGS) $(LDFLAGS) -o $@ $(CLI_OBJ)

$(BUILD)/cli/%.o: cli/%.c
	@mkdir -p $(@D)
	$(CLI_CC) $(CPPFLAGS) $(CFLAGS) $(CLI_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/fastsha-probe: cli/probe.c bench/cycles.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(CLI_CFLAGS) $(LDFLAGS) -o $@ $<

$(BUILD)/fastsha-bench: cli/bench.c cli/common.c cli/plot.c cli/cli.h cli/plot.h bench/cycles.h $(KERNEL_OBJ)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(CLI_CFLAGS) -Ishim $(BENCH_CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(BENCH_LIBS)

## make demo       git fsck with and without the library, side by side, on a real repository
demo:
	@scripts/need-packages.sh $(DEMO_PACKAGES)
	@echo 'building ...'
	@$(MAKE) -s --no-print-directory -j"$$(nproc)" all
	@BUILD=$(BUILD) scripts/demo.sh

# tests/test_*.c are linked with the library's objects; client_*.c are ordinary programs and preload_*.c libraries for bats files to run
# beside libfastsha.so. What one of them needs besides: a line `$(BUILD)/tests/test_NAME: TEST_LIBS = -lcrypto`.
TESTS = $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/test_*.c tests/client_*.c)) \
	$(patsubst tests/%.c,$(BUILD)/tests/%.so,$(wildcard tests/preload_*.c)) $(SHAPES:%=$(BUILD)/tests/git_table_%) $(PLUGINS:%=$(BUILD)/tests/plugin_%.so)
TEST_LIBS =
$(BUILD)/tests/client_threads: TEST_LIBS = -lcrypto -lz -pthread
$(BUILD)/tests/test_stats: TEST_LIBS = -lm
$(BUILD)/tests/preload_second_libcrypto.so: TEST_LIBS = -Wl,-soname,libcrypto.so.1.1
$(BUILD)/tests/test_zlib $(BUILD)/tests/test_deflate: TEST_LIBS = -lz

$(BUILD)/tests/test_%: tests/test_%.c $(SHIM_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PROG_CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(SHIM_OBJ) $(SHIM_LIBS) $(TEST_LIBS)

$(BUILD)/tests/client_%: tests/client_%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PROG_CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(TEST_LIBS)

$(BUILD)/tests/preload_%.so: tests/preload_%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PROG_CFLAGS) -fPIC -shared -MMD -MP $(LDFLAGS) -o $@ $< $(TEST_LIBS)

# One source, a program for each shape of git's hash table.
SHAPES = OLD A B C D E ODD POINTER WRONG SHORT OID NORELRO NOPIE TWICE NAME
$(SHAPES:%=$(BUILD)/tests/git_table_%): $(BUILD)/tests/git_table_%: tests/git_table.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PROG_CFLAGS) -DSHAPE=$* $(LDFLAGS) $(SHAPE_FLAGS_$*) -o $@ $<
SHAPE_FLAGS_NORELRO = -Wl,-z,norelro
SHAPE_FLAGS_NOPIE = -no-pie -fno-pie

# Plugins with functions of their own, of a library's, and of libcrypto and zlib.
PLUGINS = own other needs crypto
$(PLUGINS:%=$(BUILD)/tests/plugin_%.so): $(BUILD)/tests/plugin_%.so: tests/plugin.c $(BUILD)/tests/plugin_library.so
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PROG_CFLAGS) -fPIC -shared $(LDFLAGS) -o $@ $< $(PLUGIN_FLAGS)
$(BUILD)/tests/plugin_library.so: tests/plugin.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PROG_CFLAGS) -fPIC -shared -Wl,-soname,plugin_library.so $(LDFLAGS) -o $@ $< -DLIBRARY -DOWN=7 -DAT='"16"'
$(BUILD)/tests/plugin_own.so: PLUGIN_FLAGS = -DOWN=3 -DAT='"16"'
$(BUILD)/tests/plugin_other.so: PLUGIN_FLAGS = -DOWN=5 -DAT='"500"'
$(BUILD)/tests/plugin_needs.so: PLUGIN_FLAGS = -DNEEDS -L$(BUILD)/tests -l:plugin_library.so -Wl,-rpath,'$$ORIGIN'
$(BUILD)/tests/plugin_crypto.so: PLUGIN_FLAGS = -lcrypto -lz

# bench/NAME.c: a program with the library's objects, `make build/bench/NAME`.
$(BUILD)/bench/%: bench/%.c $(SHIM_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PROG_CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(SHIM_OBJ) $(SHIM_LIBS) $(TEST_LIBS)
$(BUILD)/bench/inflate: TEST_LIBS = -lz

tests: all $(TESTS)

# What all of this needs, where continuous integration builds before it checks.
packages:
	@scripts/need-packages.sh $(CHECK_PACKAGES)

## make check      every test; NAMES="git.bats test_sha1" runs only these; GIT_SUITE=1 adds 60 scripts of git's own suite,
##                 DISTROS=1 Debian's other releases
check:
	@scripts/need-packages.sh $(CHECK_PACKAGES)
	@echo 'building ...'
	@$(MAKE) -s --no-print-directory -j"$$(nproc)" tests
	@BUILD=$(BUILD) GIT_SUITE=$(GIT_SUITE) DISTROS=$(DISTROS) scripts/check.sh $(NAMES)

## make check-long  the same with more random cases and larger inputs
check-long: export CHECK_LONG = 1
check-long: check

## make check-git  git's own test suite under the library (ten minutes and more); check-git-short: 60 of its scripts
check-git: all
	@scripts/need-packages.sh $(GIT_SUITE_PACKAGES) acl apache2-bin gnupg libio-pty-perl
	@BUILD=$(BUILD) scripts/check-git.sh

check-git-short: all
	@scripts/need-packages.sh $(GIT_SUITE_PACKAGES)
	@BUILD=$(BUILD) scripts/check-git.sh short

# libFuzzer targets, each with what it tests compiled for it; from tests/corpus_NAME where that exists, keeps what it finds in $(BUILD).
FUZZERS = inflate sha1dc sha memcmp settings elf
FUZZ_SRC_inflate = shim/zlib_hooks.c shim/deflate_hooks.c shim/inflate.c shim/elf_objects.c shim/callers.c
FUZZ_SRC_sha1dc = shim/sha1dc.c shim/cpu.c shim/elf_objects.c $(BUILD)/sha1dc_kernels.S
FUZZ_SRC_sha = shim/sha1.c shim/sha256.c shim/ni_kernels.S shim/cpu.c shim/elf_objects.c
FUZZ_SRC_memcmp = $(BUILD)/fuzz/memcmp_kernels.o shim/cpu.c shim/elf_objects.c
FUZZ_SRC_settings = shim/settings.c shim/cpu.c shim/elf_objects.c -Wl,--wrap=write
FUZZ_SRC_elf = shim/cpu.c shim/sha1.c shim/sha256.c shim/ni_kernels.S shim/sha1dc.c $(BUILD)/sha1dc_kernels.S
FUZZ_LIBS_inflate = $(SHIM_LIBS) -lz
FUZZ_LIBS_sha = -lcrypto
TIME = 600

$(FUZZERS:%=$(BUILD)/fuzz_%): $(BUILD)/fuzz_%: tests/fuzz_%.c tests/zlib_pair.h tests/test_sha1dc.c $(SHIM_SRC) $(SHIM_ASM) $(wildcard shim/*.h) \
		$(BUILD)/sha1dc_kernels.S $(BUILD)/sha1dc_vectors.h $(BUILD)/fuzz/memcmp_kernels.o
	clang -g -O2 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all $(PROG_CFLAGS) -o $@ $< $(FUZZ_SRC_$*) $(FUZZ_LIBS_$*)

# Without the exported names, which would be those of the fuzzer itself.
$(BUILD)/fuzz/memcmp_kernels.o: shim/memcmp_kernels.S shim/memcmp_hook.c
	@mkdir -p $(@D)
	clang -c -o $@ $<
	objcopy --redefine-sym memcmp=our_memcmp --redefine-sym bcmp=our_bcmp --redefine-sym __memcmpeq=our_memcmpeq $@

## make fuzz       every libFuzzer target for TIME seconds (600), one after the other; FUZZERS=elf only that
fuzz: $(FUZZERS:%=$(BUILD)/fuzz_%)
	@for f in $(FUZZERS); do mkdir -p $(BUILD)/corpus_$$f && \
		$(BUILD)/fuzz_$$f -max_total_time=$(TIME) -max_len=4096 -print_final_stats=1 $(BUILD)/corpus_$$f $$(ls -d tests/corpus_$$f 2>/dev/null) || exit 1; done

## make check-distros  the git and libcrypto of Debian 11, 12, 13 and sid, from this machine's mirror, and git built as other distributions do
check-distros:
	@scripts/need-packages.sh $(CHECK_PACKAGES) clang util-linux
	@$(MAKE) --no-print-directory all
	@BUILD=$(abspath $(BUILD)) bats bats/distros.bats

## make sanitize   the unit tests with AddressSanitizer and UBSan, threads and forks with ThreadSanitizer, all by clang
SANITIZED = $(patsubst tests/%.c,%,$(wildcard tests/test_*.c))
sanitize:
	@$(MAKE) --no-print-directory CC=clang BUILD=$(BUILD)/asan CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all' \
		$(SANITIZED:%=$(BUILD)/asan/tests/%)
	@for t in $(SANITIZED); do echo $$t; $(BUILD)/asan/tests/$$t || exit 1; done
	@$(MAKE) --no-print-directory CC=clang BUILD=$(BUILD)/tsan CFLAGS='-O1 -g -fsanitize=thread' $(BUILD)/tsan/tests/threads
	FASTSHA=+deflate $(BUILD)/tsan/tests/threads stacks 262144

# The library's hooks linked into the program that calls them.
$(BUILD)/tests/threads: tests/client_threads.c $(SHIM_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PROG_CFLAGS) $(LDFLAGS) -o $@ $< $(SHIM_OBJ) $(SHIM_LIBS) -lcrypto -lz -pthread

## make analyze    cppcheck, clang-tidy and gcc -fanalyzer over shim/*.c; what they overlook is in .clang-tidy and .cppcheck, with reasons
# gcc 12 loses count in the message schedule of shim/sha1dc_recompress.h, which is kept in a window of words.
ANALYZER_LOST = -Wno-analyzer-use-of-uninitialized-value
analyze: $(BUILD)/sha1dc_vectors.h
	cppcheck -q --enable=warning,performance,portability --std=c11 -D_GNU_SOURCE -D__x86_64__ '-DElfW(type)=Elf64_##type' \
		--suppressions-list=.cppcheck --error-exitcode=1 -I$(BUILD) shim
	clang-tidy --quiet $(SHIM_SRC) -- -std=gnu11 -D_GNU_SOURCE -I$(BUILD)
	@set -e; for f in $(SHIM_SRC); do echo gcc -fanalyzer $$f; [ $$f = shim/sha1dc.c ] && lost="$(ANALYZER_LOST)" || lost=; \
		gcc -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -Werror -fanalyzer $$lost -O2 -I$(BUILD) -c -o /dev/null $$f; done

## make coverage   lines of shim/*.c that the tests reach, into $(BUILD)/coverage/report
coverage:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/coverage COVERAGE='-Og --coverage -fprofile-update=atomic' LDFLAGS=--coverage tests
	-@BUILD=$(BUILD)/coverage scripts/check.sh $(NAMES)
	gcovr -r . --object-directory $(BUILD)/coverage -f 'shim/' | tee $(BUILD)/coverage/report

## make bench      timing, stock against preloaded; wants an idle machine
bench:
	@scripts/need-packages.sh $(CHECK_PACKAGES)
	@$(MAKE) --no-print-directory tests
	@for script in bats/ab-*.sh; do BUILD=$(BUILD) $$script || exit 1; done

# Without the library's objects: it is preloaded.
$(BUILD)/bench/sha: bench/sha.c bench/cycles.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PROG_CFLAGS) $(LDFLAGS) -o $@ $<

# bench/sha1dc compares with the reference implementation, out of git's source package, and with libcrypto: without the hooks, which would
# answer in its place.
$(BUILD)/reference/reference.o: bench/fetch-sha1dc.sh
	CC="$(CC)" bench/fetch-sha1dc.sh $(@D)

$(BUILD)/bench/sha1dc: bench/sha1dc.c bench/cycles.h $(BUILD)/reference/reference.o $(KERNEL_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PROG_CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/reference/reference.o $(KERNEL_OBJ) $(SHIM_LIBS) -lcrypto

# bench/memcmp compares the memcmp kernels with glibc's; bench/record-mixes.sh uses the tracer.
$(BUILD)/bench/memcmp: bench/memcmp.c bench/cycles.h $(SHIM_OBJ)
	@mkdir -p $(@D)
	for copy in avx2 closed; do objcopy --prefix-symbols=$${copy}_ $(BUILD)/shim/memcmp_kernels.o $(@D)/memcmp_$$copy.o || exit 1; done
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PROG_CFLAGS) -fno-builtin $(LDFLAGS) -o $@ $< $(@D)/memcmp_avx2.o $(@D)/memcmp_closed.o $(SHIM_OBJ) $(SHIM_LIBS)

$(BUILD)/bench/memcmp_trace.so: bench/memcmp_trace.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PROG_CFLAGS) -fno-builtin -fPIC -shared $(LDFLAGS) -o $@ $<

## make install    to PREFIX (/usr/local), LIBDIR ($(PREFIX)/lib), below DESTDIR
install: all
	install -d $(DESTDIR)$(LIBDIR)
	install -m 644 $(BUILD)/libfastsha.so $(DESTDIR)$(LIBDIR)/libfastsha.so
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $(BUILD)/fastsha
	install -D -m 755 -t $(DESTDIR)$(LIBDIR)/fastsha $(BUILD)/fastsha-probe $(BUILD)/fastsha-bench
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 man/fastsha.1
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man7 man/libfastsha.7
	install -D -m 644 cli/fastsha.bash-completion $(DESTDIR)$(PREFIX)/share/bash-completion/completions/fastsha

## make uninstall  removes what install put there
uninstall:
	rm -f $(DESTDIR)$(LIBDIR)/libfastsha.so $(DESTDIR)$(PREFIX)/bin/fastsha
	rm -rf $(DESTDIR)$(LIBDIR)/fastsha
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/fastsha.1 $(DESTDIR)$(PREFIX)/share/man/man7/libfastsha.7
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/fastsha

## make deb        Debian packages, in build/deb (REPRODUCE=1: twice, and compared)
deb:
	@scripts/need-packages.sh $(BUILD_PACKAGES) debhelper dpkg-dev lintian musl-tools pkg-config
	@BUILD=$(BUILD) scripts/deb.sh $(VERSION)

## make check-deb  installs them in a fresh Debian 12, uses and purges them; as root
check-deb: deb
	@scripts/need-packages.sh debootstrap
	@BUILD=$(BUILD) scripts/check-deb.sh

## make dist       the source archive
dist:
	@mkdir -p $(BUILD)
	scripts/dist.sh $(VERSION) >$(BUILD)/fastsha-$(VERSION).tar.xz

## make clean      removes build/
clean:
	rm -rf $(BUILD)

## make help       this list
help:
	@sed -n 's/^## //p' Makefile
	@echo
	@echo 'Variables: CC (gcc, clang), CFLAGS, CPPFLAGS, LDFLAGS, BUILD, PREFIX, LIBDIR, DESTDIR, NAMES'

.PHONY: all sanitize analyze coverage fuzz demo tests check check-long check-distros check-git check-git-short bench install uninstall deb check-deb dist clean help
-include $(SHIM_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(wildcard $(BUILD)/tests/*.d)
