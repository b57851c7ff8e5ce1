#!/bin/bash
# make-repo.sh - makes a git repository of more than 20,000 objects from what is on the machine, once, and prints its path
# make-repo.sh [sha1|sha256] [FOLDER [BLOBS]]: bare, below build/ where no FOLDER is given. The same files on the machine give the same objects.
# 17,000 blobs make 25,000 objects; 175,000 more than 250,000, in some minutes.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
format=${1:-sha1}
repo=$(realpath -m "${2:-${BUILD:-$root/build}/repo-$format.git}")
blobs=${3:-17000}
mkdir -p "$(dirname "$repo")"

# Two test files may ask at once: the first one makes it.
exec 9>"$repo.lock"
flock 9
if [ -d "$repo" ]; then
	echo "$repo"
	exit
fi

unset GIT_DIR GIT_WORK_TREE LD_PRELOAD
export GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent LC_ALL=C
tmp=$repo.tmp
rm -rf "$tmp"
trap 'rm -rf "$tmp"' EXIT
git init -q --bare -b main --object-format="$format" "$tmp"

# Two streams for git fast-import: the history proper, and its last 12 commits, which stay loose objects.
find /usr/include /usr/share/doc /usr/share/perl /usr/share/perl5 /usr/lib/python3* /usr/lib/gcc -xdev -type f -size -100k 2>/dev/null |
	LC_ALL=C sort | perl -e '
	use strict;
	use warnings;
	my ($dir, $blobs_wanted, $files_wanted) = @ARGV;
	my ($random, $mark, $blobs, $time) = (20260102, 0, 0, 1_600_000_000);

	# A number below $n: the same sequence on every machine.
	sub pick {
		my ($n) = @_;
		$random = ($random * 1103515245 + 12345) & 0x7fffffff;
		return ($random >> 8) % $n;
	}

	my @paths = grep { m{^[\w./+@-]+$} && !m{\.(gz|pyc|so|a|o)$} } map { chomp; $_ } <STDIN>;
	my $step = @paths > $files_wanted ? @paths / $files_wanted : 1;
	my (@files, %lines);
	for (my $i = 0; $i < @paths; $i += $step) {
		my $path = $paths[int $i];
		open my $in, "<:raw", $path or next;
		my @content = <$in>;
		next if !@content || $content[0] =~ /\0/;
		$path =~ s{^/usr/}{};
		push @files, $path;
		$lines{$path} = \@content;
	}

	my $out;
	sub data {
		my $text = join "", @_;
		return "data " . length($text) . "\n$text\n";
	}
	sub blob {
		print $out "blob\nmark :", ++$mark, "\n", data(@{$lines{$_[0]}});
		$blobs++;
		return "M 100644 :$mark $_[0]\n";
	}
	sub commit {
		my ($subject, $from, @changes) = @_;
		$time += 600 + pick(7200);
		my $who = ("Ada", "Bela", "Chen", "Dora")[pick(4)];
		print $out "commit refs/heads/main\nmark :", ++$mark, "\nauthor $who <\L$who\E\@example.org> $time +0100\n",
			"committer Maintainer <m\@example.org> $time +0000\n", data("$subject\n\nOne of the changes that a history consists of.\n"),
			$from, @changes, "\n";
		return $mark;
	}

	# A few changed places in one file: a line goes, comes from another file, or is changed.
	sub edit {
		my $content = $lines{$_[0]};
		for (0 .. pick(4)) {
			my $at = pick(scalar @$content);
			my $kind = pick(3);
			if ($kind == 0 && @$content > 8) {
				splice @$content, $at, 1 + pick(3);
			} elsif ($kind == 1) {
				my $other = $lines{$files[pick(scalar @files)]};
				splice @$content, $at, 0, $other->[pick(scalar @$other)];
			} else {
				$content->[$at] = sprintf "%x %s", pick(1 << 20), $content->[$at];
			}
		}
	}

	# Neighbours in one folder, and one file from elsewhere.
	sub change_some {
		my ($n) = @_;
		my $start = pick(scalar @files);
		my %changed = map { $files[($start + $_) % @files] => 1 } 0 .. pick($n);
		$changed{$files[pick(scalar @files)]} = 1;
		my @names = sort keys %changed;
		edit($_) for @names;
		return (scalar @names, map { blob($_) } @names);
	}

	# A few files move beside others, and change a little: what rename detection has to find.
	sub move_some {
		my ($n) = @_;
		my @changes;
		for (0 .. pick(6)) {
			my $i = pick(scalar @files);
			my ($old, $beside) = ($files[$i], $files[pick(scalar @files)]);
			my $new = ($beside =~ s{[^/]*$}{}r) . "$n-" . ($old =~ s{^.*/(\d+-)*}{}r);
			next if exists $lines{$new};
			$lines{$new} = delete $lines{$old};
			$files[$i] = $new;
			edit($new);
			push @changes, "R $old $new\n", blob($new);
		}
		return @changes;
	}

	open $out, ">:raw", "$dir/history";
	my $head = commit("Begin", "", map { blob($_) } @files);
	for (my $n = 1; $blobs < $blobs_wanted; $n++) {
		my ($count, @changes) = change_some(60);
		push @changes, move_some($n) if $n % 4 == 0;
		if ($n % 10 == 0) {
			# A commit that two lines of history lead to.
			my $side = commit("Change beside $n", "from :$head\n", (change_some(10))[1 .. 1]);
			$head = commit("Merge change $n", "from :$head\nmerge :$side\n", @changes);
		} else {
			$head = commit("Change $count files, the ${n}th time", "from :$head\n", @changes);
		}
		print $out "tag v$n\nfrom :$head\ntagger Maintainer <m\@example.org> $time +0000\n", data("Version $n\n") if $n % 20 == 0;
	}
	close $out;

	open $out, ">:raw", "$dir/newest";
	my $from = "from refs/heads/main^0\n";
	for my $n (1 .. 12) {
		my ($count, @changes) = change_some(10);
		$head = commit("Change $count files lately, $n", $from, @changes);
		$from = "from :$head\n";
	}
	close $out;
' "$tmp" "$blobs" 6000

git --git-dir="$tmp" -c fastimport.unpackLimit=0 fast-import --quiet <"$tmp/history"
git --git-dir="$tmp" repack -q -a -d -f
git --git-dir="$tmp" -c fastimport.unpackLimit=10000 fast-import --quiet <"$tmp/newest"
rm "$tmp/history" "$tmp/newest"

objects=$(git --git-dir="$tmp" count-objects -v | awk '/^(count|in-pack):/ { n += $2 } END { print n }')
if [ "$objects" -lt 20000 ]; then
	echo "make-repo.sh: only $objects objects; too few files in /usr/include and /usr/share/doc" >&2
	exit 1
fi
mv "$tmp" "$repo"
echo "$repo"
