module example.test/clean

go 1.25
