#!/usr/bin/env bats
# git.bats - what git prints, returns and writes is the same with the library as without it, in SHA-1 and in SHA-256 repositories
# The repositories are those of make-repo.sh. Every test also proves, from the library's report, that the git door served the bytes.

load helpers

FORMATS=(sha1 sha256)

setup_file() {
	"$BATS_TEST_DIRNAME/make-repo.sh" sha1
	"$BATS_TEST_DIRNAME/make-repo.sh" sha256
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	git config --global init.defaultBranch main
	git config --global gc.auto 0
	git config --global pack.threads 1
}

# sides: fresh, empty folders for `same` to work in, one for each side.
sides() {
	SIDES=$BATS_TEST_TMPDIR/sides
	rm -rf "$SIDES" report
	mkdir -p "$SIDES/stock" "$SIDES/shim"
}

# assert_same_files [PATH]: both sides have written the same files, byte for byte. Not compared: the index and what else holds times
# and inode numbers.
assert_same_files() {
	diff -r --no-dereference -x index -x '*.lock' -x ORIG_HEAD "$SIDES/stock/${1-}" "$SIDES/shim/${1-}" ||
		fail "the files written differ"
}

# blob_names FORMAT <paths: git's names for the files, computed by Python.
blob_names() {
	/usr/bin/python3 -c '
import hashlib, sys
for path in sys.stdin:
    content = open(path.strip(), "rb").read()
    print(hashlib.new(sys.argv[1], b"blob %d\0" % len(content) + content).hexdigest())
' "$1"
}

# flip FILE OFFSET: changes one bit.
flip() {
	chmod u+w "$1"
	perl -e 'my ($file, $at) = @ARGV; open my $f, "+<:raw", $file or die; seek $f, $at, 0; read $f, my $c, 1; seek $f, $at, 0; print $f chr(ord($c) ^ 4)' "$1" "$2"
}

@test "the library is loaded and its git door is open" {
	shim git --version
	grep -q '"program":"[^"]*git"' report
	[[ $(door_why git git) == "on: "* ]]
}

@test "fsck" {
	for format in "${FORMATS[@]}"; do
		rm -f report
		same git -C "$(repository "$format")" fsck --full --strict
		assert_equal "$status" 0
		assert_served git 150000000
	done
}

@test "fsck of damaged repositories" {
	for format in "${FORMATS[@]}"; do
		rm -rf damaged
		cp -a "$(repository "$format")" damaged
		pack=$(echo damaged/objects/pack/*.pack)
		size=$(stat -c %s "$pack")
		for at in 20 $((size / 3)) $((size - 5)); do
			rm -f report
			flip "$pack" "$at"
			same git -C damaged fsck --full
			flip "$pack" "$at"
			assert [ "$status" != 0 ]
			assert_served git
		done
		same git -C damaged fsck
		assert_equal "$status" 0
		# Loose objects: contents that belong to another name, damaged compressed bytes, an empty file.
		mapfile -t loose < <(cd damaged/objects && find ./?? -type f | sort)
		chmod u+w "damaged/objects/${loose[0]}" "damaged/objects/${loose[9]}"
		cp "damaged/objects/${loose[1]}" "damaged/objects/${loose[0]}"
		flip "damaged/objects/${loose[5]}" 30
		: >"damaged/objects/${loose[9]}"
		same git -C damaged fsck --full
		assert [ "$status" != 0 ]
	done
}

@test "verify-pack" {
	for format in "${FORMATS[@]}"; do
		rm -f report
		same git -C "$(repository "$format")" verify-pack -v "$(echo "$(repository "$format")"/objects/pack/*.idx)"
		assert_equal "$status" 0
		assert_served git 150000000
	done
}

@test "index-pack: one thread and two, from a file and from a pipe, damaged and thin packs" {
	for format in "${FORMATS[@]}"; do
		repo=$(repository "$format")
		sides
		pack=$(echo "$repo"/objects/pack/*.pack)
		for threads in 1 2; do
			same git index-pack --object-format="$format" --threads=$threads --strict -o "pack-$threads.idx" "$pack"
			assert_equal "$status" 0
		done
		assert_same_files
		assert_served git 300000000
		cmp "$SIDES/shim/pack-1.idx" "${pack%.pack}.idx"

		same git init -q --object-format="$format" .
		INPUT=$pack same git index-pack --stdin --keep=why
		assert_equal "$status" 0
		# A thin pack: its bases come from the repository, and are hashed.
		printf '%s\n' main ^main~20 | git -C "$repo" pack-objects --thin --revs --stdout -q >thin
		INPUT=thin same git index-pack --stdin --fix-thin
		assert_equal "$status" 0
		assert_same_files .git/objects

		cp "$pack" damaged.pack
		for at in 30 5000 $(($(stat -c %s damaged.pack) / 2)) $(($(stat -c %s damaged.pack) - 9)); do
			flip damaged.pack "$at"
			INPUT=damaged.pack same git index-pack --stdin
			assert [ "$status" != 0 ]
			flip damaged.pack "$at"
		done
	done
}

@test "cat-file: every object" {
	for format in "${FORMATS[@]}"; do
		rm -f report
		same git -C "$(repository "$format")" cat-file --batch --batch-all-objects
		assert_equal "$status" 0
		assert [ "$(stat -c %s stock.out)" -gt 100000000 ]
		same git -C "$(repository "$format")" cat-file -p 'main~3^{tree}'
		same git -C "$(repository "$format")" cat-file -t no-such-object
		assert_equal "$status" 128
		assert_served git
	done
}

@test "log -p, log --raw, rev-list, blame, diff, grep, archive" {
	for format in "${FORMATS[@]}"; do
		repo=$(repository "$format")
		rm -f report
		same git -C "$repo" log -p --full-index main
		assert_equal "$status" 0
		assert [ "$(stat -c %s stock.out)" -gt 1000000 ]
		same git -C "$repo" log --raw -M -C --stat --all -50
		same git -C "$repo" rev-list --objects --all
		same git -C "$repo" diff main~30 main
		same git -C "$repo" blame main -- "$(git -C "$repo" diff --name-only main~1 main | head -n 1)"
		same git -C "$repo" grep -n 'inline' main
		assert_equal "$status" 0
		same git -C "$repo" archive --format=tar main
		same git -C "$repo" shortlog -s main
		same git -C "$repo" describe --tags main
		# All but the small objects come from the pack, whose bytes are not hashed again: what is hashed are indexes, loose objects, heads.
		assert_served git
	done
}

@test "hash-object: sizes 0 to 300 and around powers of two up to 64 MiB, equal to the digests that Python computes" {
	mkdir files
	perl -e 'srand 7; my $s = pack "L*", map { int rand 2**32 } 1 .. 2**18; print $s x 65' >all
	sizes=({0..300})
	for k in {9..26}; do sizes+=($(((1 << k) - 1)) $((1 << k)) $(((1 << k) + 1))); done
	for size in "${sizes[@]}"; do head -c "$size" all >"files/$size"; done
	for format in "${FORMATS[@]}"; do
		rm -f report names
		rm -rf r
		git init -q --object-format="$format" r
		printf "$PWD/files/%s\n" "${sizes[@]}" >names
		INPUT=names same git -C r hash-object --stdin-paths
		assert_equal "$status" 0
		assert_served git 300000000
		blob_names "$format" <names >expected
		cmp expected stock.out
	done
}

@test "hash-object: from a pipe, with -w, other types, bad objects" {
	head -c 300000 /usr/bin/git >input
	for format in "${FORMATS[@]}"; do
		sides
		same git init -q --object-format="$format" .
		INPUT=input same git hash-object -w --stdin
		assert_equal "$(cat stock.out)" "$(blob_names "$format" <<<input)"
		INPUT=input same git hash-object --stdin -t commit
		assert [ "$status" != 0 ]
		INPUT=input same git hash-object --stdin -t nonsense --literally -w
		assert_equal "$status" 0
		same git hash-object no-such-file
		assert_equal "$status" 128
		assert_same_files .git/objects
		assert_served git 600000
	done
}

@test "add, commit, amend, merge, rebase, stash, tag, gc: the same objects, byte for byte" {
	for format in "${FORMATS[@]}"; do
		sides
		same git init -q --object-format="$format" .
		for side in stock shim; do
			git -C "$(repository "$format")" archive main~40 include | tar -x -C "$SIDES/$side"
		done
		# shellcheck disable=SC2016 # the inner shell expands
		same bash -euc '
			git add -A
			git commit -qm first
			git status --short
			find . -name "*.h" | sort | head -200 | while read -r f; do echo changed >>"$f"; done
			git commit -qam second
			git commit -q --amend -m "second, amended"
			git branch side HEAD~1
			git checkout -q side
			echo beside >beside
			git add beside
			git commit -qm third
			git merge -q -m merged main
			git checkout -q -b other main
			echo more >more
			git add more
			git commit -qm fourth
			git rebase -q side
			echo stashed >>more
			git stash -q
			git stash pop -q
			git commit -qam fifth
			git tag -a -m tagged v1
			git notes add -m noted
			git rm -rq include/linux || git rm -q more
			git commit -qm sixth
			git log --stat --all
			git fsck --strict
			git count-objects
		'
		assert_equal "$status" 0
		assert_same_files .git/objects
		assert_same_files .git/refs
		same git ls-files -s
		same git gc -q --prune=now
		same git multi-pack-index write
		same git commit-graph write --reachable
		same git fsck --strict
		assert_equal "$status" 0
		assert_same_files .git/objects
		assert_served git 10000000
	done
}

@test "clone, fetch, push: of a local repository, by hard links and by the transfer protocol" {
	for format in "${FORMATS[@]}"; do
		repo=$(repository "$format")
		sides
		same git clone -q --bare "$repo" local.git
		assert_equal "$status" 0
		same git clone -q --no-local "$repo" protocol
		assert_equal "$status" 0
		same git clone -q --no-local --depth 3 "file://$repo" shallow
		assert_equal "$status" 0
		same git -C protocol fsck --strict
		assert_equal "$status" 0
		same git -C protocol ls-files -s
		assert_same_files local.git/objects
		assert_same_files protocol/.git/objects
		assert_served git 100000000
		same bash -euc '
			cd protocol
			git config user.name X
			git config user.email x@example.org
			echo new >new
			git add new
			git commit -qm new
			git push -q ../local.git main:pushed
			cd ../local.git
			git fsck
			git fetch -q ../protocol main:fetched
			git rev-parse pushed fetched
		'
		assert_equal "$status" 0
		assert_same_files local.git/objects
	done
}

@test "bundle: create, verify, clone from" {
	for format in "${FORMATS[@]}"; do
		repo=$(repository "$format")
		sides
		same git -C "$repo" bundle create -q "$SIDES/b" main --tags
		assert_equal "$status" 0
		for side in stock shim; do (cd "$SIDES/$side" && "$side" git -C "$repo" bundle create -q "$PWD/b" main --tags); done
		assert_same_files b
		same git -C "$repo" bundle verify "$SIDES/b"
		assert_equal "$status" 0
		same git clone -q b cloned
		assert_equal "$status" 0
		assert_same_files cloned/.git/objects
		flip "$SIDES/b" $(($(stat -c %s "$SIDES/b") / 2))
		same git clone -q "$SIDES/b" broken
		assert [ "$status" != 0 ]
		assert_served git 100000000
	done
}

@test "fast-import, pack-objects, unpack-objects, repack" {
	for format in "${FORMATS[@]}"; do
		repo=$(repository "$format")
		git -C "$repo" fast-export main~30..main >stream 2>/dev/null
		sides
		same git init -q --object-format="$format" .
		INPUT=stream same git fast-import --quiet --force
		same git rev-parse --all
		git -C "$repo" rev-list --objects main~30..main | git -C "$repo" pack-objects -q --stdout >some.pack
		INPUT=some.pack same git unpack-objects -q
		assert_equal "$status" 0
		same git repack -q -a -d -f --depth=10
		assert_equal "$status" 0
		assert_same_files .git/objects
		assert_served git 1000000
	done
}
