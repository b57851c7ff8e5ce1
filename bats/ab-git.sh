#!/bin/bash
# ab-git.sh - the distribution's git, stock against preloaded, on the repository of make-repo.sh or $AB_REPO: ab-git.sh [-n RUNS] [NAME...]
# shellcheck source=bats/ab-lib.bash
. "$(dirname "$0")/ab-lib.bash"
ab_begin "$@"

repo=${AB_REPO:-$("$ROOT/bats/make-repo.sh" sha1)} || exit 1
repo256=$("$ROOT/bats/make-repo.sh" sha256) || exit 1
export HOME=$AB_DIR GIT_CONFIG_NOSYSTEM=1
git config --global pack.threads 1
git config --global gc.auto 0
git config --global user.name A
git config --global user.email a@example.org
big=$(ab_big)

ab fsck git -C "$repo" fsck --full
ab fsck-sha256 git -C "$repo256" fsck --full
ab hash-object-256M git hash-object "$big"
ab hash-object-256M-sha256 git -C "$repo256" hash-object "$big"
ab index-pack git index-pack --threads=1 -o "$AB_DIR/idx" "$(echo "$repo"/objects/pack/*.pack)"
ab verify-pack git -C "$repo" verify-pack "$(echo "$repo"/objects/pack/*.idx)"
AB_DOOR=inflate ab cat-file-batch git -C "$repo" cat-file --batch --batch-all-objects
AB_DOOR='' ab log-p git -C "$repo" log -p main
# 1,000 commits before the newest one, or the oldest one.
old=$(git -C "$repo" rev-list --first-parent -n 1001 main | tail -n 1)
AB_DOOR='' ab log-raw-M git -C "$repo" log --raw -M -n 1000 main
AB_DOOR='' ab diff-raw-M git -C "$repo" diff --raw -M "$old" main
AB_DOOR='' ab archive git -C "$repo" archive main

if ab_wanted add || ab_wanted clone; then
	mkdir "$AB_DIR/tree"
	git -C "$repo" archive main | tar -x -C "$AB_DIR/tree"
	AB_OPTIONS=(--prepare "rm -rf '$AB_DIR/tree/.git' '$AB_DIR/clone'; git init -q '$AB_DIR/tree'")
	ab add git -C "$AB_DIR/tree" add -A
	ab clone git clone -q --no-local --bare "$repo" "$AB_DIR/clone"
fi

if ab_wanted checkout; then
	git clone -q --shared "$repo" "$AB_DIR/checkout"
	AB_OPTIONS=(--prepare "git -C '$AB_DIR/checkout' checkout -q -f main")
	AB_DOOR='' ab checkout git -C "$AB_DIR/checkout" checkout -q "$old"
fi

# One large file, with the door that is closed by default.
if ab_wanted add-256M-text || ab_wanted add-256M-noise; then
	AB_OPTIONS=(--prepare "rm -rf '$AB_DIR/one/.git'; git init -q '$AB_DIR/one'" --only '+deflate')
	mkdir "$AB_DIR/one"
	git -C "$repo" archive main >"$AB_DIR/archive"
	while cat "$AB_DIR/archive"; do :; done 2>/dev/null | head -c $((256 << 20)) | dd of="$AB_DIR/one/file" bs=8M iflag=fullblock status=none
	AB_DOOR=deflate ab add-256M-text git -C "$AB_DIR/one" add file
	ln -f "$big" "$AB_DIR/one/file" 2>/dev/null || cp "$big" "$AB_DIR/one/file"
	AB_DOOR=deflate ab add-256M-noise git -C "$AB_DIR/one" add file
fi
