package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestMain lets the test binary be sluice.
func TestMain(m *testing.M) {
	if os.Getenv("SLUICE_TEST_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// sluice runs the command in a process of its own.
func sluice(t *testing.T, stdin string, stdout *os.File, args ...string) (code int, out, errs string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stdoutText, stderr bytes.Buffer
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "SLUICE_TEST_MAIN=1")
	cmd.Stdin = bytes.NewReader([]byte(stdin))
	cmd.Stdout, cmd.Stderr = &stdoutText, &stderr
	if stdout != nil {
		cmd.Stdout = stdout
	}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdoutText.String(), stderr.String()
}

const bucket = "../../policy/testdata/samples/bucket.yaml"

// TestProcess checks the exit code and the outputs of a real process.
func TestProcess(t *testing.T) {
	code, out, errs := sluice(t, `{"at":0,"op":"call","id":1}`+"\nno\n", nil, "eval", "--policy", bucket)
	if code != 2 || out != `{"at":"0s","id":1,"decision":"admit","attempt":1}`+"\n" || !bytes.HasPrefix([]byte(errs), []byte("line 2: ")) {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, errs)
	}
}

// TestClosedPipe checks that a reader who left ends it quietly.
func TestClosedPipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	defer writer.Close()
	code, _, errs := sluice(t, `{"at":0,"op":"call","id":1}`, writer, "eval", "--policy", bucket)
	if code != 0 || errs != "" {
		t.Errorf("code %d, stderr %q", code, errs)
	}
}
