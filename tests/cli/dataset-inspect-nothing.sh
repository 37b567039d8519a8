dsa dataset inspect nowhere || echo "status $?"
mkdir empty
dsa dataset inspect empty || echo "status $?"
dsa dataset inspect 2>&1 | head -1
dsa dataset inspect --threads many set
