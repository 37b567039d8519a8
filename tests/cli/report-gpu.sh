# What devices did: a line, a section; and what stood in the way.
python3 - "$DATA/run.json" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
row = {"pid": 4242, "device": 0, "busy_s": 2, "copy_s": 0.5, "idle_data_s": 1, "idle_host_s": 0.5,
       "overlap_s": 0.25, "collective_s": 0, "length_s": 4}
result["devices"] = [dict(row, kind="real"), dict(row, kind="synthetic", busy_s=3, idle_data_s=0),
                     dict(row, device=1, kind="real")]
result["cupti"] = {"about": "CUPTI 130001, libcupti.so.13", "lost_records": 3}
result["second_proof"]["basis"] = "device idle for data, by difference of windows"
json.dump(result, open("gpu.json", "w"))
del result["devices"]
result["cupti"] = {"about": "CUPTI is held by \x1b[1mtheir tool: one tool at a time"}
json.dump(result, open("held.json", "w"))
END
dsa report gpu.json | grep -E -A2 '^ +(gpu|check) '
dsa report held.json | grep -E -A1 '^ +gpu '
dsa report --format=html gpu.json | sed -n '/id="gpu"/,/<\/section>/p'
dsa report --format=html gpu.json | grep -c 'By device idle'
dsa report --format=html held.json | grep -c 'id="gpu"' || true
dsa report --format=json gpu.json >again.json
dsa report --format=json again.json | cmp - again.json
python3 -c 'import json; print(json.load(open("again.json"))["devices"][0])'
