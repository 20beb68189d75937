module example.test/planted

go 1.25
