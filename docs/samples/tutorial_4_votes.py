from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from ostraka import AuxiliarySet, Ballot, Tally, Terms
from ostraka.methods import soft

auxiliary = AuxiliarySet.scaled(X_public, ["ill", "well"], constant=0.5, standardise=True)

mailbox = []
for number in range(300):  # on each hospital's own machine
    local = RandomForestClassifier(10, random_state=0) if number % 2 else GaussianNB()
    local.fit(X[hospital == number], y[hospital == number])
    mailbox.append(Ballot.cast(local, auxiliary).to_bytes())  # one bit per public sample

tally = Tally(auxiliary)  # on the coordinator's machine
for message in mailbox:
    tally.add(Ballot.from_bytes(message, n_samples_bound=len(X_public)))

print(soft.plan(auxiliary, tally.n_parties, Terms(epsilon=2.0, lambda_=1e-2)).certificate)  # known before any vote
release = soft.release(tally, Terms(epsilon=2.0, lambda_=1e-2))
print(release.score(X_new, y_new))
