# Terminals of 60 columns: no line is longer, and no table loses a column.
export LC_ALL=C.UTF-8 COLUMNS=60
longest() {
	wc -L
}
dsa report "$DATA/run-whatif.json" | tee narrow
longest <narrow
dsa report "$DATA/run-jobs.json" | longest
cp "$DATA/../fuzz/corpus/model/run" run.json
dsa whatif run.json --cores 1,2 --cache 0%,100% | sed 's/[0-9][0-9.]*/N/g' | tee narrow
dsa whatif run.json --jobs 2 --share=no,yes | longest
dsa compare "$DATA/run.json" "$DATA/run-whatif.json" | longest
# A wide terminal has wide tables, and text that can be read.
COLUMNS=200 dsa whatif run.json --cores 1,2 | head -2 | wc -l
COLUMNS=200 dsa report "$DATA/run.json" | longest
