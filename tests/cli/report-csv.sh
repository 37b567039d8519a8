dsa report --format=csv "$DATA/run.json" | tr -d '\r' | head -5
