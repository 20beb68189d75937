// The samples are of the tests alone. As a module of their own they are not in the zip of the
// library, which every user fetches.
module github.com/sluice-go/sluice/policy/testdata

go 1.25.0
