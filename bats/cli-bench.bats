#!/usr/bin/env bats
# cli-bench.bats - fastsha bench: options, forms of output, errors; not the figures
# shellcheck disable=SC2016,SC2154

bats_require_minimum_version 1.5.0
load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

bench() {
	"$BUILD/fastsha" bench "$@"
}

has() {
	bench --list | grep -q "^$1 *$"
}

@test "bench --list: every name, with what was absent" {
	run -0 bench --list
	for name in sha1-fastsha sha1-libcrypto sha1-portable sha1dc-avx512 sha1dc-avx2 sha1dc-ssse3 sha256-fastsha sha256-libcrypto \
		sha256-portable sha512-libcrypto sha512-librhash edonr512-librhash skein512-botan blake2b-libcrypto; do
		assert_line --regexp "^$name( |$)"
	done
}

@test "bench: both tables, how cycles are counted" {
	run -0 bench --only sha256
	assert_line --partial 'time-stamp counter ticks scaled by a calibrated chain of dependent adds'
	assert_line --regexp '^SHA-256 \(fastsha, [a-z0-9]+\)( +[0-9]+\.[0-9]{2}){7}$'
	assert_line --regexp '^SHA-256 \(portable C\)( +[0-9]+\.[0-9]{2}){7}$'
	assert_line --partial 'samples were quiet'
	refute_line --regexp '^SHA-1 '
	if has sha256-libcrypto; then
		assert_line --regexp '^algorithm, 128 KiB messages +cycles/byte +improvement over sha256 \(ASM\)$'
		assert_line --regexp '^SHA-256 \(libcrypto\) +[0-9.]+ +1\.00x  <- sha256 \(ASM\)$'
	fi
}

@test "bench --csv and --json have the same rows" {
	run -0 --separate-stderr bench --only sha1-portable,sha256-portable --csv
	assert_line --index 0 'name,algorithm,implementation,bytes,cycles_per_byte,low,high,gb_per_s,quiet,samples'
	[ "${#lines[@]}" = 13 ]
	assert_line --regexp '^sha256-portable,sha256,portable,131072,[0-9.]+,[0-9.]+,[0-9.]+,[0-9.]+,[0-9]+,[0-9]+$'
	run -0 --separate-stderr bench --only sha1-portable,sha256-portable --json
	python3 -c 'import json, sys; d = json.loads(sys.argv[1]); r = d["results"]; assert len(r) == 12; assert all(x["cycles_per_byte"] > 0 and
x["low"] <= x["cycles_per_byte"] <= x["high"] and x["gb_per_s"] > 0 for x in r); assert d["ghz"] > 0.5 and d["processor"]' "$output"
}

@test "bench --cpu lowers the library's kernels, not the others" {
	run -0 bench --only sha1-fastsha,sha1dc --cpu generic
	assert_line --regexp '^SHA-1 \(fastsha, portable\)'
	refute_line --partial 'detecting'
	assert_line --partial "the library's kernels may use generic"
	run -2 bench --cpu avx3
	assert_output --partial "--cpu: unknown level 'avx3' (known: generic, ssse3, avx2, avx512"
	run -2 bench --only sha1dc --cpu generic
	assert_output --partial 'can run at level generic'
}

@test "bench --plot" {
	command -v gnuplot >/dev/null || skip 'no gnuplot'
	run -0 bench --only sha1-portable --plot out.svg
	for text in 'lower is better' 'message (bytes)' 'core cycles per byte' 'SHA-1 (portable C)'; do
		grep -qF "$text" out.svg || fail "not in the picture: $text"
	done
	run -0 bench --only sha1-portable --dark --plot out.png
	[ "$(head -c 4 out.png | od -An -tx1)" = ' 89 50 4e 47' ]
}

@test "bench: wrong options: exit 2" {
	run -2 bench --only md5
	assert_output --partial "--only: nothing is called 'md5'"
	run -2 bench --only
	assert_output --partial 'option --only needs an argument'
	run -2 bench --csv --json
	assert_output --partial 'exclude each other'
	run -2 bench --dark
	assert_output --partial 'only with --plot'
	run -2 bench --plot x.gif
	assert_output --partial 'has to end in .svg or .png'
	run -2 bench sha1
	assert_output --partial "'sha1': bench takes no arguments"
	run -2 bench --frob
	assert_output --partial 'unknown option --frob'
}

@test "bench: interrupted, it prints what there is" {
	env --default-signal=INT "$BUILD/fastsha" bench --only sha1 >out 2>err 3>&- &
	local pid=$! code=0
	sleep 0.5
	kill -INT $pid
	wait $pid || code=$?
	[ $code = 130 ]
	grep -q 'interrupted; the results so far' err
	grep -qE '^SHA-1 \(portable C\) +[0-9]' out
}

@test "bench without its program: says which" {
	mkdir alone
	cp "$BUILD/fastsha" alone/
	run -1 alone/fastsha bench
	assert_output --partial 'cannot find fastsha-bench'
}
