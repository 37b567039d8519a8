#!/bin/bash
# What shells offer after "dsa ...": asked of the shells themselves. Speaks TAP.
here=$(cd "$(dirname "$0")" && pwd)
PATH=${BUILD:-$here/../build/plain}:$PATH
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
number=0 failed=0

# result NAME: passes if the command before it did.
result() {
	local status=$?
	number=$((number + 1))
	[ $status = 0 ] && echo "ok $number - $1" && return
	echo "not ok $number - $1"
	failed=1
}

skip() {
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

# offers_bash WANTED WORD...: what bash would complete the last word to, in order.
offers_bash() {
	local wanted=$1 said
	shift
	said=$(
		# shellcheck disable=SC1091
		source "$scratch/bash"
		# shellcheck disable=SC2034
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		cd "$scratch" && _dsa
		echo "${COMPREPLY[*]}"
	)
	[ "$said" = "$wanted" ] || {
		echo "# after '$*': '$said', not '$wanted'"
		return 1
	}
}

# The commands as --help lists them, with a space between.
commands=$(dsa --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' | xargs)

for shell in bash zsh fish; do
	dsa completion $shell >"$scratch/$shell"
done

echo 1..12
bash -n "$scratch/bash"
result "bash reads it"
offers_bash "$commands" dsa ""
result "bash offers every command"
offers_bash "doctor" dsa doc
result "bash completes a command"
offers_bash "--dataset" dsa doctor --d
result "bash completes an option"
offers_bash "--storage-bandwidth --storage-latency" dsa gate --st
result "bash offers no option that has no effect"
offers_bash "zsh" dsa completion z
result "bash completes a word"
offers_bash "fish" dsa doctor --dataset = f
result "bash completes the file of an option"
offers_bash "fish" dsa dataset convert f && offers_bash "fish" dsa dataset convert fish f
result "bash completes the paths of a copy"

if command -v zsh >/dev/null; then
	zsh -n "$scratch/zsh"
	result "zsh reads it"
	zsh -c "_arguments() { print -rl -- \$@; }; words=(dsa dataset convert f) CURRENT=4
		source $scratch/zsh" | grep -qxF '*::FROM TO:_files'
	result "zsh completes the paths of a copy"
else
	skip "zsh reads it" "no zsh"
	skip "zsh completes the paths of a copy" "no zsh"
fi
if command -v fish >/dev/null; then
	fish -n "$scratch/fish"
	result "fish reads it"
	said=$(HOME=$scratch fish -c "source $scratch/fish; complete -C 'dsa doctor --dat'" |
		cut -f 1)
	[ "$said" = --dataset= ] || [ "$said" = --dataset ]
	result "fish completes an option"
else
	skip "fish reads it" "no fish"
	skip "fish completes an option" "no fish"
fi
exit $failed
