#!/usr/bin/env bats
# parallel.bats - programs that have nothing to serve run unchanged, 200 at once, with threads and forks; and git with threads

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mkdir tree
	for n in {1..50}; do head -c $((n * 97)) "$LIB" >"tree/$n"; done
}

# 50 of each kind at once, on one side; their outputs to SIDE.KIND.N, exit codes beside them.
fleet() {
	# shellcheck disable=SC2034 # REPORT is for shim
	local side=$1 n code pids=() REPORT=$PWD/report.$1
	for n in {1..50}; do
		# shellcheck disable=SC2016 # the inner shell expands
		"$side" bash -c 'for i in 1 2 3; do (echo "$i $(echo "inner $(cksum <"tree/$1")")") & wait; done; exit $1' \
			bash "$n" >"$side.bash.$n" 2>&1 &
		pids+=($!)
		"$side" /usr/bin/python3 -c '
import os, sys, threading, hashlib, zlib
n = int(sys.argv[1])
data = open("tree/%d" % n, "rb").read() * 50
out = [None] * 8
def work(i):
    out[i] = hashlib.sha256(data[i:]).hexdigest() + hashlib.sha1(data[i:]).hexdigest() + str(zlib.crc32(data)) + str(data[i:] == data[:-i or None])
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for t in threads: t.start()
pid = os.fork()
if pid == 0:
    work(0)
    os._exit(7 if out[0] else 1)
for t in threads: t.join()
print(out, os.waitpid(pid, 0)[1])
sys.exit(n)
' "$n" >"$side.python.$n" 2>&1 &
		pids+=($!)
		# shellcheck disable=SC2016 # perl expands
		"$side" perl -e '
			my $n = shift;
			my %seen;
			for my $i (1 .. 3) {
				my $pid = fork // die;
				if (!$pid) { exec "cat", "tree/$i" if $i == 2; exit($n == $i) }
				waitpid $pid, 0;
				$seen{$i} = $?;
			}
			my @lines = sort map { $_ x ($n % 7 + 1) } qw(b a d c);
			print "\n@lines ", join(",", map { "$_=$seen{$_}" } sort keys %seen), "\n";
			exit $n' "$n" >"$side.perl.$n" 2>&1 &
		pids+=($!)
		"$side" find tree -newer tree/1 -o -size +$((n % 5))k -exec basename -a {} + >"$side.find.$n" 2>&1 &
		pids+=($!)
	done
	for n in "${pids[@]}"; do
		code=0
		wait "$n" || code=$?
		echo $code
	done >"$side.codes"
}

@test "200 bash, python3, perl and find at once, with threads and forks: the same output and exit codes, doors open or closed" {
	fleet stock
	FASTSHA=off fleet shim
	diff stock.codes shim.codes
	for f in stock.*.*; do cmp "$f" "shim.${f#stock.}"; done
	rm shim.* report.shim
	fleet shim
	diff stock.codes shim.codes
	assert_equal "$(wc -l <shim.codes)" 200
	for f in stock.*.*; do cmp "$f" "shim.${f#stock.}"; done
	# The 200 and their children that were programs of their own.
	assert [ "$(wc -l <report.shim)" -ge 200 ]
	for program in bash python3 perl find basename; do grep -q "\"program\":\"[^\"]*/$program" report.shim; done
	# None of them has git's table.
	assert_equal "$(REPORT=$PWD/report.shim door_why git | grep -c '^on')" 0
}

@test "git with threads: grep, pack-objects, index-pack" {
	repo=$("$ROOT/bats/make-repo.sh" sha1)
	same git -C "$repo" grep --threads=8 -c 'return' main
	assert_equal "$status" 0
	mkdir out
	for round in 1 2 3; do
		shim git index-pack --threads=8 -o "out/$round.idx" "$(echo "$repo"/objects/pack/*.pack)" >/dev/null
		cmp "out/$round.idx" "$(echo "$repo"/objects/pack/*.idx)"
	done
	shim git -C "$repo" pack-objects --all --threads=8 -q "$PWD/out/pack" </dev/null
	shim git verify-pack out/pack-*.idx
	assert_served git 300000000
}

@test "40 git processes at once" {
	repo=$("$ROOT/bats/make-repo.sh" sha1)
	for n in {1..40}; do
		shim git -C "$repo" hash-object --stdin <"tree/$n" >"name.$n" &
	done
	wait
	for n in {1..40}; do assert_equal "$(cat "name.$n")" "$(git hash-object "tree/$n")"; done
	assert_served git
	assert_equal "$(wc -l <report)" 40
}
