dsa frobnicate
