#!/usr/bin/env bats
# zlib.bats - the doors to zlib in whole programs: the tests of zlib's own source, git with threads, corrupt objects, compressed files
# shellcheck disable=SC2154 # bats sets status and output

bats_require_minimum_version 1.5.0
load helpers

setup() {
	export REPORT=$BATS_TEST_TMPDIR/report
}

# zlib's source package, unpacked below build/ once: $source. Of the installed version, else of the newest. Skips where neither can be had.
zlib_source() {
	source=$BUILD/zlib-source
	[ ! -d "$source" ] || return 0
	local fetched=$source.fetched version
	version=$(dpkg-query -W -f='${source:Version}' zlib1g 2>"$source.log") || skip "no Debian system: $(<"$source.log")"
	timeout 120 "$ROOT/scripts/fetch-source.sh" "$fetched" "zlib=$version" >"$source.log" 2>&1 ||
		timeout 120 "$ROOT/scripts/fetch-source.sh" "$fetched" zlib >>"$source.log" 2>&1 ||
		skip "the source package of zlib cannot be had: $(grep '^E:' "$source.log" | tail -n 1)"
	mkdir -p "$source.tmp"
	tar -xf "$fetched"/zlib_*.orig.tar.* --strip-components=1 -C "$source.tmp"
	mv "$source.tmp" "$source"
}

# Their zlib.h is not of the installed library's version everywhere: the installed header is used.
zlib_program() {
	cp "$1/test/$2.c" "$BATS_TEST_TMPDIR"
	# What tests an internal function of zlib's is left out: an installed library does not export it.
	[ "$2" != infcover ] || { cp "$1"/inftrees.h "$1"/inflate.h "$BATS_TEST_TMPDIR" && sed -i '/cover_trees();/d' "$BATS_TEST_TMPDIR/infcover.c"; }
	cc -O1 -w -o "$BATS_TEST_TMPDIR/$2" "$BATS_TEST_TMPDIR/$2.c" -lz
}

@test "zlib's example: the same output, with every door" {
	zlib_source
	zlib_program "$source" example
	cd "$BATS_TEST_TMPDIR"
	same ./example
	FASTSHA=+deflate shim ./example >deflate.out
	cmp stock.out deflate.out
	assert_served deflate
}

@test "zlib's minigzip: files that gzip reads, byte for byte as without" {
	zlib_source
	zlib_program "$source" minigzip
	cd "$BATS_TEST_TMPDIR"
	./minigzip <"$LIB" >stock.gz
	FASTSHA=+deflate shim ./minigzip <"$LIB" >shim.gz
	cmp stock.gz shim.gz
	shim ./minigzip -d <stock.gz | cmp - "$LIB"
	assert_served checksum
}

@test "zlib's infcover: every path of inflate, its allocations watched" {
	zlib_source
	zlib_program "$source" infcover || skip "infcover does not build with the installed zlib"
	cd "$BATS_TEST_TMPDIR"
	run --separate-stderr ./infcover
	assert_success
	stock_stderr=$stderr
	run --separate-stderr shim ./infcover
	assert_success
	assert_equal "$stderr" "$stock_stderr"
}

@test "git grep with 8 threads over many revisions" {
	repo=$("$ROOT/bats/make-repo.sh" sha1)
	mapfile -t revisions < <(git -C "$repo" rev-list --max-count=10 main)
	same git -C "$repo" grep --threads=8 -c -e 'abcd[02]' "${revisions[@]}"
	assert_served inflate 1000000
}

# An expression for regcomp: code that PCRE generates at run time reads past strings, with and without us.
@test "git grep with 8 threads under valgrind" {
	command -v valgrind >/dev/null || skip "no valgrind"
	repo=$("$ROOT/bats/make-repo.sh" sha1)
	LD_PRELOAD=$LIB FASTSHA=inflate,checksum FASTSHA_REPORT=$REPORT valgrind -q --error-exitcode=9 --leak-check=no \
		git -C "$repo" grep --threads=8 -c -E -e 'i[n]t' main:include >/dev/null
	assert_served inflate 100000
}

@test "a damaged object: git dies as it would have, in its own words" {
	export SIDES=
	git init -q "$BATS_TEST_TMPDIR/r"
	cd "$BATS_TEST_TMPDIR/r"
	seq 1 3000 >file
	git add file
	git commit -q -m x
	git repack -q -a -d
	pack=$(echo .git/objects/pack/*.pack)
	chmod u+w "$pack"
	size=$(stat -c %s "$pack")
	for at in 60 100 $((size / 2)) $((size - 60)) $((size - 30)); do
		cp "$pack" ../good
		printf '\377\000\252' | dd of="$pack" bs=1 seek="$at" conv=notrunc status=none
		same git fsck --full
		same git show HEAD:file
		same git index-pack -o ../idx "$pack"
		cp ../good "$pack"
	done
	same git fsck --full
	assert_served inflate
}

@test "deflate: objects that stock git reads, and no larger in total" {
	mkdir "$BATS_TEST_TMPDIR/tree"
	cp -r "$ROOT"/shim "$ROOT"/tests "$BATS_TEST_TMPDIR/tree"
	cd "$BATS_TEST_TMPDIR/tree"
	for side in stock shim; do
		git init -q --bare "../$side.git"
		FASTSHA=+deflate $side git --git-dir="../$side.git" --work-tree=. add -A
		FASTSHA=+deflate $side git --git-dir="../$side.git" --work-tree=. commit -q -m x
	done
	[ "$(git -C ../stock.git rev-parse HEAD)" = "$(git -C ../shim.git rev-parse HEAD)" ]
	git -C ../shim.git fsck --full --strict
	stock_size=$(cat ../stock.git/objects/??/* | wc -c)
	shim_size=$(cat ../shim.git/objects/??/* | wc -c)
	echo "loose objects: $stock_size bytes by zlib, $shim_size by libdeflate"
	[ $((shim_size * 100)) -le $((stock_size * 102)) ]
	FASTSHA=+deflate shim git -C ../shim.git repack -q -a -d -f
	git -C ../shim.git fsck --full --strict
	assert_served deflate 10000
}

@test "tar.gz and zip files stay byte for byte the same, deflate or not" {
	repo=$("$ROOT/bats/make-repo.sh" sha1)
	cd "$BATS_TEST_TMPDIR"
	for format in tar.gz zip; do
		git -C "$repo" -c tar.tar.gz.command='git archive gzip' archive --format=$format main include >stock.$format
		FASTSHA=+deflate shim git -C "$repo" -c tar.tar.gz.command='git archive gzip' archive --format=$format main include >shim.$format
		cmp stock.$format shim.$format
	done
}
