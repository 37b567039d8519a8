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

# offers_zsh WANTED LINE: what zsh, on a terminal of its own, completes a line to.
offers_zsh() {
	local said
	cat >"$scratch/zshrc" <<-'END'
		autoload -Uz compinit && compinit -u -d $PWD/dump
		source ./zsh
		complete-and-show() { zle complete-word; print -r -- "<<${BUFFER% }>>" }
		zle -N complete-and-show
		bindkey '^I' complete-and-show
		print READY
	END
	# shellcheck disable=SC2016
	said=$(cd "$scratch" && timeout 20 zsh -f -c '
		zmodload zsh/zpty
		zpty shell zsh -f -i
		zpty -w shell "source ./zshrc"
		zpty -r shell said "*READY*"
		zpty -w -n shell "$1"$'"'\\t'"'
		zpty -r shell said "*<<*>>*"
		said=${said##*<<}
		print -r -- ${said%%>>*}' zsh "$2")
	[ "$said" = "$1" ] || {
		echo "# after '$2': '$said', not '$1'"
		return 1
	}
}

# The commands as --help lists them, with a space between.
commands=$(dsa --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' | xargs)

for shell in bash zsh fish; do
	dsa completion $shell >"$scratch/$shell"
done

echo 1..13
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
	offers_zsh "dsa dataset convert fish" "dsa dataset convert fis"
	result "zsh completes the paths of a copy"
	offers_zsh "dsa run -o x -- cat fish" "dsa run -o x -- cat fis" &&
		offers_zsh "dsa gate -- dsa dataset inspect" "dsa gate -- dsa dataset insp"
	result "zsh completes the command to be measured"
else
	skip "zsh reads it" "no zsh"
	skip "zsh completes the paths of a copy" "no zsh"
	skip "zsh completes the command to be measured" "no zsh"
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
