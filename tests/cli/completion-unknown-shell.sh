dsa completion tcsh
