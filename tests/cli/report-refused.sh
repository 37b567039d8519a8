dsa report nowhere || echo $?
mkdir empty
dsa report empty || echo $?
echo '{"schema": "dsa.result/2"}' >newer.json
dsa report newer.json || echo $?
printf '{"schema": "\033[31m\\n"}' >hostile.json
dsa report hostile.json || echo $?
dsa report --format=pdf empty 2>&1 | head -1
