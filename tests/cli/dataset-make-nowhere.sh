dsa dataset make no/such/place
