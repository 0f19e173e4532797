package removal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestWhatARemovalDoesNext(t *testing.T) {
	for name, tc := range map[string]struct {
		s    Situation
		want Step
	}{
		"Manifests that could not be deleted are waited for":                   {Situation{Failed: true}, Wait},
		"a Kyma that is gone ends it":                                          {Situation{Gone: true}, End},
		"a Kyma that is not being deleted is resumed":                          {Situation{Alive: true}, Resume},
		"a restored Kyma is never purged":                                      {Situation{Alive: true, PurgeDue: true}, Resume},
		"Manifests that remain are waited for":                                 {Situation{Remaining: 2, Purgeable: 2}, Wait},
		"without Manifests the remote cluster is cleaned up":                   {Situation{}, CleanUp},
		"a purge forces the Manifests first":                                   {Situation{Remaining: 1, Purgeable: 1, PurgeDue: true}, PurgeModules},
		"a purge without Manifests forces the remote cluster":                  {Situation{PurgeDue: true}, PurgeCluster},
		"a purge comes before the release of those without access":             {Situation{Remaining: 2, Purgeable: 2, WithoutAccess: 1, SecretGone: true, PurgeDue: true}, PurgeModules},
		"Manifests whose access Secret is gone are released":                   {Situation{Remaining: 2, Purgeable: 2, WithoutAccess: 1, SecretGone: true}, Release},
		"a Secret that is missing for a short time releases none":              {Situation{Remaining: 2, Purgeable: 2, WithoutAccess: 1}, Wait},
		"Manifests that need no Secret are waited for even if it is gone":      {Situation{Remaining: 2, SecretGone: true}, Wait},
		"nothing is purged while the Manifests are unknown":                    {Situation{Failed: true, PurgeDue: true}, Wait},
		"nothing is released while the Manifests are unknown":                  {Situation{Failed: true, SecretGone: true, WithoutAccess: 1}, Wait},
		"a cluster whose Secret is gone is cleaned up like any other at first": {Situation{SecretGone: true}, CleanUp},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, Next(tc.s)) })
	}
}

func TestASecretCountsAsGoneAfterTwoReadsFarApart(t *testing.T) {
	since, gone := SecretGone(time.Time{}, noon, true)
	require.Equal(t, noon, since)
	require.False(t, gone)
	since, gone = SecretGone(since, noon.Add(119*time.Second), true)
	require.Equal(t, noon, since)
	require.False(t, gone)
	_, gone = SecretGone(since, noon.Add(2*time.Minute), true)
	require.True(t, gone)
	since, gone = SecretGone(since, noon.Add(3*time.Minute), false)
	require.Zero(t, since, "a Secret that is found again resets the time")
	require.False(t, gone)
}

func TestWhenAPurgeIsDue(t *testing.T) {
	for name, tc := range map[string]struct {
		p         Purge
		graceOver bool
		want      bool
	}{
		"not within the grace period":                                         {p: Purge{OrderlySince: noon.Add(-time.Hour)}},
		"after it, if an orderly removal was tried for long enough":           {p: Purge{OrderlySince: noon.Add(-time.Hour), OrderlyFor: time.Hour}, graceOver: true, want: true},
		"after it, but not before that":                                       {p: Purge{OrderlySince: noon.Add(-time.Hour), OrderlyFor: 2 * time.Hour}, graceOver: true},
		"at once if a user requested it":                                      {p: Purge{Requested: true}, want: true},
		"a purge that has begun continues":                                    {p: Purge{OrderlySince: noon, OrderlyFor: time.Hour, Begun: true}, graceOver: true, want: true},
		"a purge that has begun to force the remote cluster continues":        {p: Purge{OrderlySince: noon, OrderlyFor: time.Hour, Cleanups: 1}, graceOver: true, want: true},
		"a purge of Manifests without access does not count as its beginning": {p: Purge{OrderlySince: noon, OrderlyFor: time.Hour, Begun: true, Lost: true}, graceOver: true},
		"a purge stops if its grace period was extended":                      {p: Purge{Begun: true}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, tc.p.Due(noon, tc.graceOver)) })
	}
}

func TestAnOrderlyRemovalStartsAgainAfterAnOutage(t *testing.T) {
	p := Purge{}
	p.Checked(noon, noon, time.Hour)
	require.Equal(t, noon, p.OrderlySince)
	p.Next = noon.Add(10 * time.Minute)
	p.Checked(noon.Add(12*time.Minute), noon, time.Hour)
	require.Equal(t, noon, p.OrderlySince, "a little late")
	p.Checked(noon.Add(13*time.Minute), noon, time.Hour)
	require.Equal(t, noon.Add(13*time.Minute), p.OrderlySince, "nothing ran at the time of the planned check")
	p.Interrupted()
	p.Checked(noon.Add(14*time.Minute), noon, time.Hour)
	require.Equal(t, noon.Add(14*time.Minute), p.OrderlySince, "the control plane did not answer")
}

func TestAPurgeOfAnotherKindHasToBeAdmittedAgain(t *testing.T) {
	p := Purge{Begun: true}
	p.SetLost(false)
	require.True(t, p.Begun)
	p.SetLost(true)
	require.False(t, p.Begun)
}

func TestAModuleThatRemainsIsPurgedAgainAfterAMinute(t *testing.T) {
	p := Purge{}
	require.True(t, p.Ask(noon))
	require.False(t, p.Ask(noon.Add(59*time.Second)))
	require.True(t, p.Ask(noon.Add(time.Minute)))
}

func TestWhenARemovalIsCheckedWithoutAKick(t *testing.T) {
	const id = "kyma/demo"
	after := func(p Purge, checks int, missing time.Time) time.Duration {
		return NextCheck(noon, checks, id, p, missing).Sub(noon)
	}
	within := func(want, is time.Duration) {
		t.Helper()
		require.GreaterOrEqual(t, is, want)
		require.LessOrEqual(t, is, want+want/4)
	}
	within(time.Minute, after(Purge{}, 0, time.Time{}))
	within(4*time.Minute, after(Purge{}, 2, time.Time{}))
	within(15*time.Minute, after(Purge{}, 1000, time.Time{}))

	for name, tc := range map[string]struct {
		p       Purge
		missing time.Time
		want    time.Duration
	}{
		"when the grace period ends":                        {p: Purge{At: noon.Add(3 * time.Minute), OrderlySince: noon}, want: 3 * time.Minute},
		"when an orderly removal was tried long enough":     {p: Purge{At: noon, OrderlySince: noon, OrderlyFor: 4 * time.Minute}, want: 4 * time.Minute},
		"soon if the worker's clock is slow":                {p: Purge{At: noon.Add(-time.Minute), OrderlySince: noon.Add(-time.Hour)}, want: 5 * time.Second},
		"when modules that remain are purged again":         {p: Purge{AskedAt: noon.Add(-20 * time.Second)}, want: 40 * time.Second},
		"between attempts to clean up by force":             {p: Purge{Begun: true, Cleanups: 1}, want: 10 * time.Second},
		"when a missing access Secret must be read again":   {missing: noon.Add(-time.Minute), want: time.Minute},
		"at the earliest of several times":                  {p: Purge{At: noon.Add(3 * time.Minute), OrderlySince: noon}, missing: noon, want: 2 * time.Minute},
		"not for a missing Secret that has been read again": {p: Purge{At: noon.Add(3 * time.Minute), OrderlySince: noon}, missing: noon.Add(-time.Hour), want: 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, after(tc.p, 8, tc.missing)) })
	}
	within(15*time.Minute, after(Purge{At: noon.Add(time.Minute)}, 8, time.Time{})) // no orderly removal is under way
	within(15*time.Minute, after(Purge{Begun: true}, 8, time.Time{}))
}

func TestWaitsForNamesTheModulesAndTheTimeOfThePurge(t *testing.T) {
	require.Equal(t, "the modules to be removed", (&Purge{}).WaitsFor())
	require.Equal(t, "the modules to be removed; purge at 2026-01-01T12:00:00Z", (&Purge{At: noon}).WaitsFor())
	require.Equal(t, "the modules to be purged", (&Purge{At: noon, Begun: true}).WaitsFor())
	require.Equal(t, "the modules to be purged", (&Purge{Requested: true}).WaitsFor())
}
