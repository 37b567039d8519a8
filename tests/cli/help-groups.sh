# No heading of a help stands without options below it.
for command in $(dsa --help | awk '/^  [a-z]/ {print $1}'); do
	dsa "$command" --help | awk -v command="$command" '
		/^ [A-Z].*:$/ {if (group) print command, group; group = $0; next}
		/^  / {group = ""}'
done
echo looked
