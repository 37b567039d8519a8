mkdir full
touch full/notes
dsa dataset make full
