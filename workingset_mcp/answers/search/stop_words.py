"""Stop words of English, German, French, Spanish, Portuguese, Italian and Dutch. Data only."""

TEXT = """\
    a aan aber about after ai al all alle als am an and any ao aos are as at até au auch auf
    aus aux avec be because been before bei being bij bin bis but by can ce ces cette che chi
    ci com combien come comment como con cosa could cual cuando cuanto cuándo cuántos da dal
    dalla dans das dass dat de dei dein del della delle dem den der des deze di did die dies
    diese dit do doch does doing donde door dos dove du durch dónde e each ed een ein eine
    einem einen einer eines el ela ele ella elle em en entre er es essa esse est esta este et
    euch foi for from fue für gab get gets gibt gli got ha haben had han hanno has hat hatte
    have having hay he heb heeft her het hier hij his ho hoe hoeveel how i ich if ihr ik il
    ils im in into io is ist it it's its ja je kan kein la las le les leur lo los ma maar mais
    man many mas may me mein met might mijn mit more most much must my más na naar nach nas
    nel nella nicht niet no noch nog non nos not nous nur não o ob oder of off om on ook op or
    os ou our out over où par para pas pela pelo per perché pero più por porque pour pourquoi
    qual quale quali quand quando quanti quanto que quel quelle quelles quels quem qui quien
    quién qué sa se sein seit sem ser ses seu shall she should si sich sie sin sind so sobre
    some son sono sont su sua sul sur sus são também te than that the their them then there
    these they this those to tot tra uit um uma un una und under une uno uns unser until up us
    van veel viel viele vom von voor vor vous waar waarom wann wanneer war waren warum was wat
    we welche welchem welchen welcher welches welke wem wen wer werd werden were what when
    where which while who whom whose why wie wieder wij will wir wird with wo worden would
    wurde wurden y ya you your zijn zo zu zum zur à è été über
"""
