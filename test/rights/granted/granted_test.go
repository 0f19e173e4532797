package granted_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/deploy/rights"
	"github.com/kyma-project/lifecycle-manager/test/rights/granted"
)

func TestWhatIsRecordedIsReadAgain(t *testing.T) {
	path := granted.Path(t.TempDir())
	account := granted.Account{User: "one", Instance: rights.Instance{Roles: []string{rights.Watchers}}, Namespaces: map[string][]string{rights.ScopeRelease: {"here"}}}
	require.NoError(t, granted.Record(path, account))
	require.NoError(t, granted.Record(path, granted.Account{User: "one", Lost: true}))
	all, err := granted.Read(path)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.False(t, all[1].At.Before(all[0].At))
	account.At = all[0].At
	require.Equal(t, account, all[0])
	require.True(t, all[1].Lost)

	none, err := granted.Read(filepath.Join(t.TempDir(), "absent"))
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestAnAccountHasWhatItGotSinceItLostAll(t *testing.T) {
	second := func(n int64) time.Time { return time.Unix(n, 0) }
	all := []granted.Account{
		{At: second(1), User: "one"},
		{At: second(2), User: "one", Everything: true},
		{At: second(3), User: "other"},
		{At: second(4), User: "one", Lost: true},
		{At: second(5), User: "one"},
	}
	for at, want := range map[int64][]granted.Account{0: nil, 1: all[:1], 3: all[:2], 4: nil, 9: all[4:]} {
		require.Equal(t, want, granted.At(all, "one", second(at)), at)
	}
}
