#!/usr/bin/env bats
# library.bats - what kind of library libfastsha.so is: what it needs, exports and imports, and how it is hardened

load helpers

dynamic() {
	readelf -dW "$LIB"
}

@test "it needs libc, and nothing else" {
	# libdl where dlsym is not in libc yet, before glibc 2.34; the dynamic loader for thread-local storage.
	allowed='libc\.so\.6|ld-linux-x86-64\.so\.2'
	[ "$(getconf GNU_LIBC_VERSION | tr -dc 0-9)" -ge 234 ] || allowed="$allowed|libdl\.so\.2"
	run bash -c "readelf -dW '$LIB' | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^($allowed)\$'"
	assert_output ''
	assert_equal "$(dynamic | grep -c 'libc\.so\.6')" 1
}

@test "it has a SONAME and no search path" {
	dynamic | grep -q 'Library soname: \[libfastsha.so\]'
	run grep -E 'RPATH|RUNPATH' <(dynamic)
	assert_failure
}

@test "it exports what shim/exports.map lists, without versions" {
	sed -n 's/^\t\([A-Za-z0-9_]*\);$/\1/p' "$ROOT/shim/exports.map" | sort >"$BATS_TEST_TMPDIR/listed"
	nm -D --defined-only "$LIB" | awk '{ print $3 }' | sort >"$BATS_TEST_TMPDIR/exported"
	diff "$BATS_TEST_TMPDIR/listed" "$BATS_TEST_TMPDIR/exported"
	assert [ -s "$BATS_TEST_TMPDIR/exported" ]
	run grep -E 'VERDEF' <(dynamic)
	assert_failure
}

@test "every export is a plain function: no IFUNC, no IRELATIVE relocation" {
	run grep -E 'IFUNC' <(readelf -sW "$LIB")
	assert_failure
	run grep -E 'IRELATIV' <(readelf -rW "$LIB")
	assert_failure
	assert_equal "$(nm -D --defined-only "$LIB" | awk '$2 != "T"')" ''
}

@test "it imports what tests/imports.list lists, at most, and all of it from libc" {
	grep -v '^#' "$ROOT/tests/imports.list" | sort -u >"$BATS_TEST_TMPDIR/listed"
	nm -D --undefined-only "$LIB" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u >"$BATS_TEST_TMPDIR/imported"
	run comm -13 "$BATS_TEST_TMPDIR/listed" "$BATS_TEST_TMPDIR/imported"
	assert_output ''
	# Versions: those of libc and the loader alone.
	run bash -c "readelf -VW '$LIB' | sed -n 's/.*File: \([^ ]*\).*/\1/p' | grep -vE '^(libc\.so\.6|libdl\.so\.2|ld-linux-x86-64\.so\.2)$'"
	assert_output ''
}

@test "no executable stack, no segment both writable and executable, no text relocations" {
	readelf -lW "$LIB" | grep GNU_STACK | grep -q ' RW '
	run grep -E '^ *LOAD.* (RWE|WE) ' <(readelf -lW "$LIB")
	assert_failure
	run grep TEXTREL <(dynamic)
	assert_failure
}

@test "full RELRO: read-only after relocation, everything bound at load" {
	readelf -lW "$LIB" | grep -q GNU_RELRO
	dynamic | grep -q 'FLAGS.*BIND_NOW'
	run grep -w '\.got\.plt' <(readelf -SW "$LIB")
	assert_failure
}

@test "no static thread-local storage: it can be loaded late" {
	run grep STATIC_TLS <(dynamic)
	assert_failure
	run grep -E 'TPOFF|GOTTPOFF' <(readelf -rW "$LIB")
	assert_failure
}

@test "CET: the notes are there, and every export begins with endbr64" {
	readelf -nW "$LIB" | grep -q 'x86 feature: IBT, SHSTK'
	objdump -d --no-show-raw-insn "$LIB" >"$BATS_TEST_TMPDIR/code"
	# By address: names that share one are labelled once.
	nm -D --defined-only "$LIB" | while read -r address _ name; do
		grep -A1 "^$address <" "$BATS_TEST_TMPDIR/code" | grep -q endbr64 || fail "$name does not begin with endbr64"
	done
}

@test "one constructor, in init.c" {
	run bash -c "for o in '$BUILD'/shim/*.o; do
		readelf -SW \$o | grep -qE '\.(init_array|preinit_array|ctors)' && basename \$o; done"
	assert_output init.o
	# The other entry of .init_array is the compiler's frame_dummy.
	size=$(dynamic | awk '/INIT_ARRAYSZ/ { print $3 }')
	assert [ "$size" -le 16 ]
}

@test "its code stays small" {
	text=$(size -A "$LIB" | awk '$1 == ".text" { print $2 }')
	assert [ "$text" -gt 1000 ]
	assert [ "$text" -lt 300000 ]
}

@test "nothing of the machine that built it is in it" {
	strip -g -o "$BATS_TEST_TMPDIR/stripped" "$LIB"
	strings "$BATS_TEST_TMPDIR/stripped" >"$BATS_TEST_TMPDIR/strings"
	grep -q FASTSHA_REPORT "$BATS_TEST_TMPDIR/strings"
	run grep -F "$ROOT" "$BATS_TEST_TMPDIR/strings"
	assert_output ''
}

@test "install and uninstall leave what they should, below DESTDIR" {
	dest=$BATS_TEST_TMPDIR/dest
	# Variables of the make that runs the tests are not this one's.
	env -u MAKEFLAGS -u MAKELEVEL make -s -C "$ROOT" BUILD="$BUILD" DESTDIR="$dest" PREFIX=/opt/f LIBDIR=/opt/f/lib64 install
	assert [ -f "$dest/opt/f/lib64/libfastsha.so" ]
	cmp "$LIB" "$dest/opt/f/lib64/libfastsha.so"
	env -u MAKEFLAGS -u MAKELEVEL make -s -C "$ROOT" BUILD="$BUILD" DESTDIR="$dest" PREFIX=/opt/f LIBDIR=/opt/f/lib64 uninstall
	run find "$dest" -type f
	assert_output ''
}
