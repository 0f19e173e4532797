package certificates

import "context"

// named are the activities with the names by which agents reach the listener now.
func (a *Activities) named(ctx context.Context) (*Activities, error) {
	if a.FindListenerNames == nil {
		return a, nil
	}
	options := a.Options
	var err error
	if options.ListenerNames, err = a.FindListenerNames(ctx); err != nil {
		return nil, err
	}
	now := &Activities{keeper: newKeeper(options)}
	if a.issuer != nil {
		issuer := *a.issuer
		issuer.keeper = now.keeper
		now.issuer = &issuer
	}
	return now, nil
}
